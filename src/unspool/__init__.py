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
    from unspool.api.check import check as check
    from unspool.api.compare import compare as compare
    from unspool.api.run import Run as Run
    from unspool.api.run import load as load
    from unspool.api.train import train as train
    from unspool.errors import ConfigError as ConfigError
    from unspool.errors import DataError as DataError
    from unspool.errors import RunError as RunError
    from unspool.errors import TrainingError as TrainingError
    from unspool.errors import UserError as UserError
    from unspool.search.decoding import Decoding as Decoding
    from unspool.tasks.answer import Answer as Answer
    from unspool.tasks.answer import Answers as Answers
    from unspool.tasks.task import Report as Report
    from unspool.topic_model import topics as topics
    from unspool.training.progress import Watcher as Watcher

__version__ = "0.1.0"

_HOME = {
    "Answer": "unspool.tasks.answer",
    "Answers": "unspool.tasks.answer",
    "ConfigError": "unspool.errors",
    "DataError": "unspool.errors",
    "Decoding": "unspool.search.decoding",
    "Report": "unspool.tasks.task",
    "Run": "unspool.api.run",
    "RunError": "unspool.errors",
    "TrainingError": "unspool.errors",
    "UserError": "unspool.errors",
    "Watcher": "unspool.training.progress",
    "check": "unspool.api.check",
    "compare": "unspool.api.compare",
    "load": "unspool.api.run",
    "topics": "unspool.topic_model",
    "train": "unspool.api.train",
}

_MODULES = ("embed", "errors", "nn", "vectors")  # imported on first use
__all__ = [
    "Answer",
    "Answers",
    "ConfigError",
    "DataError",
    "Decoding",
    "Report",
    "Run",
    "RunError",
    "TrainingError",
    "UserError",
    "Watcher",
    "__version__",
    "check",
    "compare",
    "load",
    "topics",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"unspool.{name}")
    raise AttributeError(f"module 'unspool' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
