"""Transformers in all their forms: alone, padded, tapped, exported, step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from closeness import NAN, close, gradients, normal, shake
from torch import Tensor

from unspool.nn.masks import keep_mask
from unspool.nn.taps import record, taps
from unspool.nn.transformer import TransformerDecoder, TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions

B, T, S, E, A, H = 3, 5, 7, 8, 2, 12
LENGTHS, MEMORY_LENGTHS = torch.tensor([5, 2, 4]), torch.tensor([3, 7, 1])
OPTIONS = TransformerOptions(E, A, hidden=H, layers=2)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


FORMS = {
    "pre": {},
    "post": {"norm": "post"},
    "gelu-learned": {"activation": "gelu", "positions": "learned", "length": 40},
    "swiglu-rotary": {"activation": "swiglu", "positions": "rotary"},
    "window": {"kind": "window", "window": 2},
    "linear": {"kind": "linear", "positions": "none"},
}


class Case:
    """A stack, its input, and one interface for all: run(x, lengths) -> (B, T, E)."""

    def __init__(self, stack: str, form: str, dtype: torch.dtype = torch.double) -> None:
        options = replace(OPTIONS, **FORMS[form])
        self.reads = stack == "decoder"
        self.module: TransformerEncoder | TransformerDecoder = (
            TransformerEncoder(options)
            if stack == "encoder"
            else TransformerDecoder(options, cross=self.reads)
        )
        shake(self.module).to(dtype)
        self.x = torch.randn(B, T, E, dtype=dtype)
        self.keep = keep_mask(LENGTHS, T)
        self.memory = torch.randn(B, S, E, dtype=dtype)
        self.memory_keep = keep_mask(MEMORY_LENGTHS, S)

    def run(self, x: Tensor, lengths: Tensor | None, memory: Tensor | None = None) -> Tensor:
        if not self.reads:
            return self.module(x, lengths).outputs
        memory = self.memory if memory is None else memory
        return self.module(x, lengths, memory=memory, memory_keep=self.memory_keep).outputs


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["encoder", "decoder", "language-model"])
def case(request: pytest.FixtureRequest, form: str) -> Case:
    return Case(request.param, form)


def test_alone_is_as_in_a_batch_whatever_the_padding(case: Case) -> None:
    weight = normal(B, T, E)
    parameters = list(case.module.parameters())
    alone = []
    for i, (n, m) in enumerate(zip(LENGTHS.tolist(), MEMORY_LENGTHS.tolist())):
        x = case.x[i : i + 1, :n].clone().requires_grad_()
        memory = case.memory[i : i + 1, :m] if case.reads else None
        y = (case.module(x, memory=memory) if case.reads else case.module(x)).outputs
        alone.append([y, *gradients(y, weight[i : i + 1, :n], x, *parameters)])
    for content in (0.0, NAN, 1e4):
        x = case.x.masked_fill(~case.keep[..., None], content).requires_grad_()
        memory = case.memory.masked_fill(~case.memory_keep[..., None], content)
        y = case.run(x, LENGTHS, memory)
        by_x, *by_parameters = gradients(y, weight, x, *parameters)
        assert not y[~case.keep].any()
        assert not by_x[~case.keep].any()
        for i, n in enumerate(LENGTHS.tolist()):
            close(y[i, :n], alone[i][0][0])
            close(by_x[i, :n], alone[i][1][0])
        for a, b in zip(by_parameters, zip(*(found[2:] for found in alone))):
            close(a, sum(b))


def test_a_gradient_reaches_every_parameter(case: Case) -> None:
    y = case.run(case.x, LENGTHS)
    weight = normal(B, T, E)
    names = [name for name, _ in case.module.named_parameters()]
    for name, g in zip(names, gradients(y, weight, *case.module.parameters())):
        assert g.isfinite().all(), name
        assert g.any(), name


def test_tapped_is_untapped(case: Case) -> None:
    with record(case.module) as trace:
        tapped = case.run(case.x, LENGTHS)
    close(tapped, case.run(case.x, LENGTHS))
    wanted = [f"layers.{k}.attention.weights" for k in (0, 1)]
    if case.reads:
        wanted += [f"layers.{k}.cross_attention.weights" for k in (0, 1)]
    assert sorted(taps(case.module)) == sorted(wanted)
    for path in wanted:
        assert trace[path].shape == (B, A, T, S if "cross" in path else T)
    close(trace[wanted[0]][0].sum(-1), torch.ones(A, T).double())


def test_gradcheck(case: Case) -> None:
    x = case.x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: case.run(x, LENGTHS), [x], fast_mode=True)


def test_bfloat16_is_near(case: Case) -> None:
    case.module.float()
    case.x, case.memory = case.x.float(), case.memory.float()
    expected = case.run(case.x, LENGTHS).detach()
    for tapped in (False, True):
        with torch.autocast("cpu", torch.bfloat16):
            if tapped:
                with record(case.module):
                    y = case.run(case.x, LENGTHS)
            else:
                y = case.run(case.x, LENGTHS)
        close(y.detach().float(), expected, 0.1 * float(expected.abs().max()))
        found = gradients(y, torch.ones_like(y), *case.module.parameters())
        assert all(g.isfinite().all() for g in found)


@pytest.mark.parametrize(
    ("stack", "form"),
    [
        ("encoder", "window"),
        ("encoder", "linear"),
        ("language-model", "pre"),
        ("language-model", "linear"),
    ],
)
def test_exported_is_the_same_at_other_sizes(stack: str, form: str) -> None:
    """`torch.export`, which ONNX's exporter uses, fixes neither the batch nor the length."""
    case = Case(stack, form, torch.float)
    sizes = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    given = {"x": torch.randn(2, 20, E), "lengths": torch.tensor([20, 4])}
    shapes = {"x": sizes, "lengths": {0: torch.export.Dim.AUTO}}
    exported = torch.export.export(case.module, (), given, dynamic_shapes=shapes).module()
    given = {"x": torch.randn(3, 80, E), "lengths": torch.tensor([80, 4, 20])}
    close(exported(**given)[0], case.module(**given).outputs, 1e-5)


def test_saved_is_loaded(case: Case) -> None:
    expected = case.run(case.x, LENGTHS)
    state = {name: tensor.clone() for name, tensor in case.module.state_dict().items()}
    assert set(state) == {name for name, _ in case.module.named_parameters()}
    shake(case.module)
    case.module.load_state_dict(state)
    assert torch.equal(case.run(case.x, LENGTHS), expected)


def test_a_memory_that_is_all_padding_gives_zeros(form: str) -> None:
    case = Case("decoder", form)
    case.memory_keep = keep_mask(torch.tensor([3, 0, 7]), S)
    memory = case.memory.requires_grad_()
    y = case.run(case.x, LENGTHS, memory)
    assert y.isfinite().all()
    (by_memory,) = gradients(y, normal(B, T, E), memory)
    assert not by_memory[1].any()
    assert by_memory.isfinite().all()
    with record(case.module) as trace:
        close(case.run(case.x, LENGTHS, memory), y)
    assert not trace["layers.0.cross_attention.weights"][1].any()


@pytest.mark.parametrize(("dtype", "atol"), [(torch.double, 1e-10), (torch.float, 1e-5)])
@pytest.mark.parametrize("stack", ["decoder", "language-model"])
def test_steps_are_the_whole(stack: str, form: str, dtype: torch.dtype, atol: float) -> None:
    case = Case(stack, form, dtype)
    decoder = case.module.eval()
    x = torch.randn(B, 36, E, dtype=dtype)
    whole = case.run(x, None)
    start = decoder.start(case.memory, case.memory_keep) if case.reads else decoder.start()
    with torch.no_grad():
        state = start
        for t in range(36):
            y, state = decoder.step(x[:, t], state)
            close(y, whole[:, t].detach(), atol)
        assert state.steps == 36
    state, parts = start, []
    for few in x.split([4, 1, 20, 11], 1):
        y, state = decoder.step(few, state)
        parts.append(y)
    together = torch.cat(parts, 1)
    close(together, whole, atol)
    weight = torch.randn_like(whole)
    parameters = list(decoder.parameters())
    for a, b in zip(
        gradients(together, weight, *parameters), gradients(whole, weight, *parameters)
    ):
        close(a, b, atol * max(1.0, float(b.abs().max())) * 10)


@pytest.mark.parametrize("stack", ["decoder", "language-model"])
def test_selected_rows_go_their_own_ways(stack: str, form: str) -> None:
    """As in a beam search: rows are repeated and dropped, and an old state is used again."""
    case = Case(stack, form)
    decoder = case.module
    x, rows = normal(B, 6, E), torch.tensor([2, 0, 2, 1])
    further = normal(4, 3, E)
    with torch.no_grad():
        state = decoder.start(case.memory, case.memory_keep) if case.reads else decoder.start()
        for t in range(6):
            _, state = decoder.step(x[:, t], state)
        chosen = decoder.select(state, rows)
        first, _ = decoder.step(further[:, 0], chosen)
        _, state = decoder.step(further[:3, 0], state)  # must leave `chosen` as it is
        found = []
        for t in range(3):
            y, chosen = decoder.step(further[:, t], chosen)
            found.append(y)
    case.memory, case.memory_keep = case.memory[rows], case.memory_keep[rows]
    whole = case.run(torch.cat([x[rows], further], 1), None)
    close(first, whole[:, 6])
    close(torch.stack(found, 1), whole[:, 6:])


def test_no_step_sees_the_future(form: str) -> None:
    case = Case("language-model", form)
    x = case.x.requires_grad_()
    for t in range(T):
        (g,) = torch.autograd.grad(case.run(x, None)[:, t].sum(), x)
        assert not g[:, t + 1 :].any()
        assert g[:, t].any()
