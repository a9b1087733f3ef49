"""unspool: train sequence models, from Elman's RNN to the Transformer, look inside and predict.

    import unspool
    run = unspool.train("reviews.csv", model="bilstm", hidden=128)
    run.evaluate("test.csv")
    run.predict(["a fine film"])
    run = unspool.load("runs/reviews-bilstm")

`unspool.nn` has the layers on their own, for any PyTorch program. Names are imported on first use,
so that `import unspool` does not load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unspool.api.check import check
    from unspool.api.compare import compare
    from unspool.api.run import Run, load
    from unspool.api.train import train
    from unspool.search.decoding import Decoding
    from unspool.topic_model import topics

__version__ = "0.1.0"

_HOME = {
    "Decoding": "unspool.search.decoding",
    "Run": "unspool.api.run",
    "check": "unspool.api.check",
    "compare": "unspool.api.compare",
    "load": "unspool.api.run",
    "topics": "unspool.topic_model",
    "train": "unspool.api.train",
}

_MODULES = ("embed", "errors", "nn", "vectors")  # imported on first use
__all__ = ["Decoding", "Run", "__version__", "check", "compare", "load", "topics", "train"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"unspool.{name}")
    raise AttributeError(f"module 'unspool' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
