"""Matrix products of a model that no longer learns: its weights are packed once, for oneDNN.

torch multiplies float32 matrices with MKL, which uses half of the vector width of processors of
other makers than its own; oneDNN, which torch also contains, uses all of it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from unspool.nn.multihead import MultiHeadAttention
from unspool.tasks import Task

ROWS = 1024  # of the products that the weights are packed for; others are as correct
LEAST = 32  # inputs and outputs of a layer below which packing gains nothing


class PackedProducts(TorchFunctionMode):
    """Compute x Wᵀ + b with packed W, where W is a parameter in float32."""

    def __init__(self) -> None:
        super().__init__()
        self.packed: dict[int, tuple[Tensor, Tensor]] = {}  # by the id of W, which is kept, too

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is F.linear and not kwargs and len(args) == 3:
            x, W, b = args
            if type(W) is nn.Parameter and x.dtype == W.dtype == torch.float32:
                packed = self.pack(W)
                if packed is not None:
                    product = torch.ops.mkldnn._linear_pointwise
                    return product(x.contiguous(), packed, b, "none", [], "")
        return func(*args, **(kwargs or {}))

    def pack(self, W: nn.Parameter) -> Tensor | None:
        if min(W.shape) < LEAST:
            return None
        if id(W) not in self.packed:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                weight = W.detach().contiguous()
                self.packed[id(W)] = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS), W
        return self.packed[id(W)][0]


def packed_products(task: Task, model: nn.Module, device: str) -> PackedProducts | None:
    """For Transformers that answer in one pass; for others the detour costs more than it gains."""
    attends = any(isinstance(module, MultiHeadAttention) for module in model.modules())
    x86 = platform.machine() in ("x86_64", "AMD64") and torch.backends.mkldnn.is_available()
    return PackedProducts() if attends and x86 and device == "cpu" and not task.options else None
