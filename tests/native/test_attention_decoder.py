"""The native decoder with attention against its loop, in values and in all gradients."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unspool import native
from unspool.nn.encoder import Encoded
from unspool.nn.recurrent_decoder import RecurrentDecoder

pytestmark = pytest.mark.skipif(native.INSTRUCTIONS is None, reason=native.ABOUT)

CELLS: list[tuple[str, dict[str, Any]]] = [
    *(("elman", {"activation": name}) for name in ("tanh", "sigmoid", "relu", "maxout")),
    ("irnn", {}),
    ("lstm", {}),
    ("peephole", {}),
    ("coupled", {}),
    *(("gru", {"reset": r, "update": u}) for r in ("before", "after") for u in ("keep", "take")),
]
FORMS: list[tuple[str, bool]] = [
    ("additive", False),
    ("concat", False),
    *((attention, True) for attention in ("dot", "scaled", "general", "concat")),
]
cells = pytest.mark.parametrize(
    ("cell", "options"), CELLS, ids=[f"{c}{''.join(o.values())}" for c, o in CELLS]
)
forms = pytest.mark.parametrize(
    ("attention", "feeding"), FORMS, ids=[a + "-feeding" * f for a, f in FORMS]
)
VOCAB, B, S, T = 11, 5, 7, 6
SOURCES = torch.tensor([7, 3, 1, 0, 5])  # one sequence has nothing to read
TARGETS = torch.tensor([2, 6, 1, 4, 6])


def decoder_of(
    cell: str,
    options: dict[str, Any] | None = None,
    *,
    attention: str = "additive",
    feeding: bool = False,
    hidden: int = 20,
    **more: Any,
) -> RecurrentDecoder:
    torch.manual_seed(1)
    memory = hidden if attention in ("dot", "scaled") else 13
    decoder = RecurrentDecoder(
        VOCAB,
        memory=memory,
        embedding=9,
        cell=cell,
        hidden=hidden,
        attention=attention,  # type: ignore[arg-type]
        input_feeding=feeding,
        options=options,
        **more,
    )
    for name, parameter in decoder.named_parameters():
        scale = 0.1 if ".P_" in name else 0.3 if parameter.dim() < 2 else parameter.shape[1] ** -0.5
        nn.init.normal_(parameter, std=0.7 * scale)
    return decoder


class Case:
    """What a decoder reads, and how its vectors are weighed to a loss."""

    def __init__(self, decoder: RecurrentDecoder, batch: int = B) -> None:
        torch.manual_seed(2)
        self.ids = torch.randint(VOCAB, (batch, T))
        self.memory = torch.randn(batch, S, decoder.memory)
        self.sources = SOURCES.repeat(-(-batch // B))[:batch]
        layers = len(decoder.recurrent.cells())
        self.state = [torch.randn(batch, decoder.memory) for _ in range(layers)]
        self.lengths = TARGETS.repeat(-(-batch // B))[:batch]
        self.weight = torch.randn(batch, T, decoder.size)
        self.weight[torch.arange(T) >= self.lengths[:, None]] = 0

    def some(self, rows: Tensor) -> Case:
        chosen = object.__new__(Case)
        for name in ("ids", "memory", "sources", "lengths", "weight"):
            setattr(chosen, name, getattr(self, name)[rows])
        chosen.state = [s[rows] for s in self.state]
        return chosen

    @property
    def keep(self) -> Tensor:
        return torch.arange(S) < self.sources[:, None]


def results(decoder: RecurrentDecoder, case: Case, *, lengths: bool = True) -> dict[str, Tensor]:
    """The vectors before padding, and the gradients by everything that goes in."""
    decoder.zero_grad()
    memory = case.memory.clone().requires_grad_()
    state = [s.clone().requires_grad_() for s in case.state]
    torch.manual_seed(3)
    encoded = Encoded(memory, case.sources, tuple(((s,),) for s in state))
    h = decoder.vectors(case.ids, encoded, lengths=case.lengths if lengths else None)
    (h.float() * case.weight).sum().backward()
    real = torch.arange(T) < case.lengths[:, None]
    found = {"vectors": h.detach()[real].float(), "memory": memory.grad}
    found |= {f"state {k}": s.grad for k, s in enumerate(state)}
    found |= {name: p.grad.clone() for name, p in decoder.named_parameters() if p.grad is not None}
    return {name: value for name, value in found.items() if value is not None}


def compare(found: dict[str, Tensor], wanted: dict[str, Tensor], rtol: float) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].isfinite().all(), name
        bound = rtol * max(1.0, float(value.abs().max()))
        torch.testing.assert_close(found[name], value, rtol=0, atol=bound, msg=name)


def check(decoder: RecurrentDecoder, case: Case, *, rtol: float = 2e-5) -> None:
    y = decoder.embedding(case.ids)
    assert decoder.unsupported_reason(y) is None
    found = results(decoder, case)
    decoder.recurrent.fast = False
    wanted = results(decoder, case)
    decoder.recurrent.fast = "auto"
    compare(found, wanted, rtol)


@forms
@cells
def test_it_is_the_loop(cell: str, options: dict[str, Any], attention: str, feeding: bool) -> None:
    decoder = decoder_of(cell, options, attention=attention, feeding=feeding)
    check(decoder, Case(decoder))


@forms
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("batch", "hidden"), [(12, 320), (40, 64)])
def test_threads_share_units_or_sequences(
    attention: str, feeding: bool, threads: int, batch: int, hidden: int
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        decoder = decoder_of("gru", attention=attention, feeding=feeding, hidden=hidden)
        check(decoder, Case(decoder, batch))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("attention", "feeding"), [("additive", False), ("general", True)])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_layers(cell: str, attention: str, feeding: bool) -> None:
    decoder = decoder_of(cell, attention=attention, feeding=feeding, layers=3)
    check(decoder, Case(decoder))


@forms
def test_dropout_is_the_same(attention: str, feeding: bool) -> None:
    decoder = decoder_of("lstm", attention=attention, feeding=feeding, dropout=0.5)
    check(decoder, Case(decoder))
    assert (results(decoder, Case(decoder))["vectors"] == 0).float().mean() > 0.3


def test_dropout_between_layers() -> None:
    """Where it drops all, the upper layer reads nothing."""
    decoder = decoder_of("gru", layers=2, dropout=0.0)
    case = Case(decoder)
    decoder.recurrent.dropout.p = 1 - 1e-7
    found = results(decoder, case)
    W = decoder.recurrent.cells()[1][0].W
    assert not W.grad.any()  # type: ignore[union-attr]
    decoder.recurrent.dropout.p = 0.0
    with torch.no_grad():
        W.zero_()
    compare({"v": results(decoder, case)["vectors"]}, {"v": found["vectors"]}, 1e-6)


@forms
def test_alone_is_as_in_a_batch(attention: str, feeding: bool) -> None:
    decoder = decoder_of("lstm", attention=attention, feeding=feeding)
    case = Case(decoder)
    whole = results(decoder, case)
    real = torch.arange(T) < case.lengths[:, None]
    rows = torch.arange(B).repeat_interleave(case.lengths)
    assert len(rows) == int(real.sum())
    for row in range(B):
        alone = results(decoder, case.some(torch.tensor([row])))
        torch.testing.assert_close(whole["vectors"][rows == row], alone["vectors"])
        torch.testing.assert_close(whole["memory"][row], alone["memory"][0], atol=1e-5, rtol=1e-4)


def test_nothing_to_read_gives_zeros() -> None:
    decoder = decoder_of("gru", attention="general", feeding=True)
    case = Case(decoder)
    case.memory[~case.keep] = float("nan")
    found = results(decoder, case)
    assert all(value.isfinite().all() for value in found.values())
    assert not found["memory"][~case.keep].any()


@forms
def test_bf16(attention: str, feeding: bool) -> None:
    decoder = decoder_of("lstm", attention=attention, feeding=feeding, hidden=48)
    case = Case(decoder)
    wanted = results(decoder, case)
    with torch.autocast("cpu", torch.bfloat16):
        found = results(decoder, case)
        decoder.recurrent.fast = False
        loop = results(decoder, case)
    assert found.keys() == wanted.keys() == loop.keys()
    for name, value in wanted.items():
        error = float((found[name] - value).norm() / value.norm().clamp(min=1e-6))
        assert error < max(0.03, 2 * float((loop[name] - value).norm() / value.norm())), name


def test_without_a_gradient() -> None:
    decoder = decoder_of("gru")
    case = Case(decoder)
    wanted = results(decoder, case)["vectors"]
    state = tuple(((s,),) for s in case.state)
    with torch.no_grad():
        h = decoder.vectors(case.ids, Encoded(case.memory, case.sources, state))
    torch.testing.assert_close(h[torch.arange(T) < case.lengths[:, None]], wanted)


def test_when_the_loop_runs() -> None:
    decoder = decoder_of("gru")
    y = torch.randn(2, 3, 9)
    assert decoder.unsupported_reason(y) is None
    assert "float64" in str(decoder.double().unsupported_reason(y.double()))
    assert "no native kernel" in str(decoder_of("mingru").unsupported_reason(y))
    assert "no attention" in str(decoder_of("gru", attention="none").unsupported_reason(y))
    with native.switched_off():
        assert "switched off" in str(decoder_of("gru").unsupported_reason(y))


@pytest.mark.parametrize("instructions", ["baseline", "avx512", "avx512_bf16"])
def test_every_instruction_set(instructions: str) -> None:
    """The best of this processor is what the tests above run with; AVX2 has a pass of its own."""
    if instructions not in native._kernels.instruction_sets():
        pytest.skip(f"this processor has no {instructions}")
    if instructions == native.INSTRUCTIONS:
        pytest.skip("the tests above run with it")
    if os.environ.get("UNSPOOL_NATIVE") is not None:
        pytest.skip("this is the run of one instruction set")
    chosen = "loop and (additive or dot) or bf16 or layers or shar"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            __file__,
            "-k",
            chosen,
        ],
        check=True,
        env={**os.environ, "UNSPOOL_NATIVE": instructions},
        capture_output=True,
        timeout=300,
    )
