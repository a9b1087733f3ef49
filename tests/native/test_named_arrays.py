"""Arrays go to C++ by name: what does not fit is refused with its name, never read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from unspool import native
from unspool.native import attention_operator, operator
from unspool.native.attention_weights import SourceWeights
from unspool.native.decoder import CrossMemory, DecoderShape, PackedDecoder
from unspool.native.recurrence import KernelWeights, Stepper
from unspool.native.recurrent_search import RecurrentSearch
from unspool.nn.encoder import Encoded
from unspool.nn.recurrent_decoder import RecurrentDecoder

pytestmark = pytest.mark.skipif(native.INSTRUCTIONS is None, reason="no native kernels")

H, INPUTS = 16, 5


def arrays_of_lstm() -> dict[str, Any]:
    """Of three rows of two sequences, as the forward pass takes them."""
    rows, states = (3, H), (2, H)
    return {
        "x": torch.zeros(3, INPUTS), "W": torch.zeros(4 * H, INPUTS), "b": torch.zeros(4 * H),
        "U": torch.zeros(4 * H, H), "h0": torch.zeros(states), "c0": torch.zeros(states),
        "gates": torch.zeros(3, 4 * H), "h": torch.zeros(rows), "c": torch.zeros(rows),
        "h_end": torch.zeros(states), "c_end": torch.zeros(states),
    }  # fmt: skip


def run(arrays: Any, kind: str = "lstm", offsets: Any = None, hidden: int = H) -> None:
    offsets = torch.tensor([0, 2, 3]) if offsets is None else offsets
    native._kernels.run(*(kind, False, hidden, INPUTS, False, offsets, [False], [arrays], 1))


def test_arrays_that_fit_are_taken() -> None:
    arrays = arrays_of_lstm()
    run(arrays | {"extra": None, "inner": torch.zeros(0, H)})  # as good as not given
    arrays["U"].requires_grad_()
    run(arrays)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"U": None}, "needs U, contiguous float32 (G·H, H) = (64, 16), which is not given"),
    "empty": (
        {"W": torch.zeros(0)},
        "takes W as contiguous float32 (G·H, I) = (64, 5), not float32 (0)",
    ),
    "unknown": ({"V": torch.zeros(2)}, "takes no array V; it takes x, W, b, U, h0, c0, gates, h,"),
    "of another kind": ({"extra": torch.zeros(3 * H)}, "takes no array extra; it takes x, W"),
    "of another pass": ({"du": torch.zeros(3, 4 * H)}, "takes no array du; it takes x, W"),
    "dtype": (
        {"c0": torch.zeros(2, H).double()},
        "takes c0 as contiguous float32 (B, H) = (2, 16), not float64 (2, 16)",
    ),
    "bfloat16": ({"h": torch.zeros(3, H).bfloat16()}, "takes h as contiguous float32 (N, H)"),
    "shape": (
        {"h": torch.zeros(4, H)},
        "takes h as contiguous float32 (N, H) = (3, 16), not float32 (4, 16)",
    ),
    "dimensions": ({"b": torch.zeros(4 * H, 1)}, "takes b as contiguous float32 (G·H) = (64)"),
    "many dimensions": ({"b": torch.zeros(1, 1, 1, 1, 1, 64)}, "not float32 (1, 1, 1, 1, …, …)"),
    "not contiguous": (
        {"U": torch.zeros(H, 4 * H).t()},
        "takes U as contiguous float32 (G·H, H) = (64, 16), not float32 (64, 16), not contiguous",
    ),
    "device": ({"b": torch.zeros(4 * H, device="meta")}, "takes b as contiguous float32"),
    "no array": ({"b": [0.0] * 4 * H}, "takes b as contiguous float32 (G·H) = (64), not a list"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_array_that_does_not_fit_is_named(case: str) -> None:
    wrong, message = WRONG[case]
    with pytest.raises(TypeError, match=re.escape(message)):
        run(arrays_of_lstm() | wrong)


@pytest.mark.parametrize(
    ("offsets", "error", "message"),
    [
        (torch.tensor([0, 1, 3]), ValueError, "takes offsets that begin at 0"),
        (torch.tensor([1, 2, 3]), ValueError, "takes offsets that begin at 0"),
        (torch.tensor([0]), ValueError, "takes offsets that begin at 0"),
        (torch.tensor([0, 2, 4]), TypeError, r"takes x as .* \(N, I\) = \(4, 5\)"),
        (torch.tensor([0.0, 2.0]), TypeError, "takes offsets as contiguous int64"),
        ([0, 2, 3], TypeError, "takes offsets as contiguous int64"),
    ],
)
def test_offsets_are_checked(offsets: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(arrays_of_lstm(), offsets=offsets)


def test_kinds_and_widths_that_have_no_kernel_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no kernel lsmt"):
        run(arrays_of_lstm(), kind="lsmt")
    with pytest.raises(ValueError, match="takes H as a multiple of 16, not 15"):
        run(arrays_of_lstm(), hidden=15)
    with pytest.raises(TypeError, match="given as a dict"):
        run([torch.zeros(2)])


def test_python_knows_the_kinds_of_the_kernels() -> None:
    assert operator.LSTMS == ("coupled", "lstm", "peephole", "peephole_full")
    assert operator.READ_C == ("peephole_full",)
    assert operator.SCANS == ("mingru", "minlstm")
    assert len(operator.ELMANS) == 5


def test_weights_of_single_steps_are_checked() -> None:
    W, U, b = torch.zeros(4 * H, INPUTS), torch.zeros(4 * H, H), torch.zeros(4 * H)
    with pytest.raises(TypeError, match="the kernel lstm needs U"):
        Stepper(KernelWeights("lstm", W, b), H)
    with pytest.raises(TypeError, match="the kernel lstm takes b as"):
        Stepper(KernelWeights("lstm", W, b[1:], U), H)
    with pytest.raises(TypeError, match="the kernel lstm needs c0"), torch.inference_mode():
        Stepper(KernelWeights("lstm", W, b, U), H)(torch.zeros(1, INPUTS), (torch.zeros(1, H),))


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Calls the attention decoder of an LSTM, with arrays changed on their way to C++."""
    torch.manual_seed(1)
    decoder = RecurrentDecoder(20, memory=H, embedding=H, cell="lstm", hidden=H, fast=True)
    encoded = Encoded(torch.randn(2, 3, H))
    call = attention_operator.call_kernel

    def run(backward: bool = False, **wrong: Any) -> None:
        def wrapped(given: Any, layers: Any, arrays: Any, **options: bool) -> None:
            if options.get("backward", False) == backward:
                arrays = arrays | {k: v for k, v in wrong.items() if not k.startswith("layer_")}
                layers[0] |= {k[6:]: v for k, v in wrong.items() if k.startswith("layer_")}
            call(given, layers, arrays, **options)

        monkeypatch.setattr(attention_operator, "call_kernel", wrapped)
        decoder(torch.ones(2, 4, dtype=torch.int64), encoded).sum().backward()

    return run


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"W_q": None}, TypeError, r"decoder of lstm needs W_q, contiguous float32 \(A, H\)"),
        ({"keys": torch.zeros(2, 3, 8)}, TypeError, r"takes keys as .* \(M, S, A\)"),
        ({"positions": torch.zeros(2, 3)}, TypeError, "takes positions as contiguous int32"),
        ({"memory": torch.zeros(2)}, TypeError, "takes no array memory"),
        ({"layer_U": torch.zeros(H, H)}, TypeError, r"lstm takes U as .* \(G·H, H\)"),
        ({"sources": torch.tensor([0, 2]).int()}, IndexError, "sources must be of the 2 memories"),
        ({"counts": torch.tensor([3, 4]).int()}, IndexError, "counts and positions must be of"),
        ({"backward": True, "dq": None}, TypeError, "needs dq"),
        ({"backward": True, "layer_du": torch.zeros(8, H)}, TypeError, "takes du as"),
    ],
)
def test_arrays_of_attention_decoders_are_checked(
    changed: Callable[..., None], wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    changed()
    with pytest.raises(error, match=message):
        changed(**wrong)


def test_arrays_of_a_recurrent_search_are_checked() -> None:
    decoder = RecurrentDecoder(20, memory=H, embedding=H, cell="lstm", hidden=H)
    with torch.no_grad():
        weights, V, b = decoder.native_weights(), decoder.output.matrix(), decoder.output.b
        search = RecurrentSearch(weights, V, b, E=H, D=H, A=H)
        y, state = torch.zeros(2, H), torch.zeros(2, 2, H)
        source = SourceWeights.of(torch.zeros(2, 3, H), torch.zeros(2, 3, H), None, None)
        search.step(y, state, source)
        with pytest.raises(TypeError, match=r"takes state as .* \(Q, R, H\) = \(2, 2, 16\)"):
            search.step(y, state[:1], source)
        with pytest.raises(TypeError, match=r"takes sources as .* \(R\) = \(2\)"):
            search.step(y, state, source._replace(sources=source.sources[:1]))
        with pytest.raises(IndexError, match="sources must be of the 2 memories"):
            search.step(y, state, source._replace(sources=source.sources + 1))
        with pytest.raises(ValueError, match="have 16 elements, not 8"):
            search.step(y[:, :8], state, source)
        with pytest.raises(TypeError, match=r"takes W_q as .* \(A, H\) = \(32, 16\)"):
            RecurrentSearch(weights, V, b, E=H, D=H, A=2 * H)


def test_arrays_of_a_packed_transformer_are_checked() -> None:
    shape = DecoderShape(1, H, 2, H, 32, True, False, "relu", 1e-5)
    square, row = torch.zeros(H, H), torch.zeros(H)
    layer = {"W_qkv": torch.zeros(3 * H, H), "b_qkv": torch.zeros(3 * H)}
    for name in ("W_o", "cross_W_q", "cross_W_o", "W_1", "W_2"):
        layer[name], layer[name.replace("W", "b")] = square, row
    for name in ("norm", "cross_norm", "feed_norm"):
        layer[name + "_w"], layer[name + "_b"] = row, row
    output = {"W": torch.zeros(32, H), "b": torch.zeros(32)}

    def make(layers: list[dict[str, Tensor]]) -> PackedDecoder:
        return PackedDecoder(shape, layers, output, as_bytes=False)

    with pytest.raises(TypeError, match="the kernel decoder needs cross_b_q"):
        make([{name: w for name, w in layer.items() if name != "cross_b_q"}])
    with pytest.raises(TypeError, match=r"takes W_1 as .* \(K, E\) = \(16, 16\)"):
        make([layer | {"W_1": torch.zeros(2 * H, H)}])
    with pytest.raises(ValueError, match="the weights of each layer"):
        make([layer, layer])
    packed, keep = make([layer]), torch.ones(1, 3, dtype=torch.bool)
    memory, past, x = (
        CrossMemory((torch.zeros(1, 3, 2 * H),), keep),
        packed.start(1),
        torch.zeros(1, H),
    )
    past = packed.step(x, past, memory).past
    with pytest.raises(TypeError, match="takes x as contiguous float32"):
        packed.step(x.double(), past, memory)
    with pytest.raises(TypeError, match=r"takes memory as .* \(M, S, 2·E\) = \(1, 3, 32\)"):
        packed.step(x, past, memory._replace(keys_values=(torch.zeros(1, 2, 2 * H),)))
    with pytest.raises(TypeError, match=r"takes past as .* \(L, B, 2·E\)"):
        packed.step(x, past._replace(blocks=(torch.zeros(1, 1, H),)), memory)
    with pytest.raises(IndexError, match="ancestors lead out"):
        packed.step(x, past._replace(ancestors=past.ancestors + 1), memory)
    with pytest.raises(IndexError, match="sources lead out"):
        packed.step(x, past._replace(sources=past.sources + 1), memory)
    with pytest.raises(TypeError, match="needs keep"):
        packed.step(x, past, None)
