"""Every decoder behind its one face: step by step, in a batch, with padding, selected, trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from closeness import NAN, close, gradients, normal, shake
from torch import Tensor

from unspool.errors import ConfigError
from unspool.nn.cells import CELLS
from unspool.nn.decoders import Decoder, TransformerSeqDecoder
from unspool.nn.encoder import Encoded, Encoder
from unspool.nn.inputs import TokenInput
from unspool.nn.recurrent import Recurrent
from unspool.nn.recurrent_decoder import DECODER_ATTENTIONS, RecurrentDecoder
from unspool.nn.taps import record
from unspool.nn.transformer_blocks import TransformerOptions

B, T, S, V, E, H, M = 3, 5, 6, 7, 4, 6, 6
LENGTHS = torch.tensor([4, 6, 1])
OPTIONS = TransformerOptions(M, 2, layers=2, hidden=8)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


def recurrent(cell: str = "gru", **more: Any) -> RecurrentDecoder:
    given = {"memory": M, "embedding": E, "hidden": H, **more}
    return RecurrentDecoder(V, cell=cell, **given)


FORMS = {
    **{attention: lambda a=attention: recurrent(attention=a) for attention in DECODER_ATTENTIONS},
    "feeding": lambda: recurrent("lstm", attention="general", input_feeding=True, layers=2),
    "stacked": lambda: recurrent("lstm", attention="additive", units=3, layers=2),
    "stacked-none": lambda: recurrent("lstm", attention="none", layers=2),
    "tied": lambda: recurrent(attention="dot", tied=True),
    "transformer": lambda: TransformerSeqDecoder(V, OPTIONS),
    "transformer-untied": lambda: TransformerSeqDecoder(V, OPTIONS, tied=False),
    "transformer-alone": lambda: TransformerSeqDecoder(V, OPTIONS, cross=False),
    **{f"{cell}-none": lambda c=cell: recurrent(c, attention="none") for cell in CELLS},
    **{f"{cell}-additive": lambda c=cell: recurrent(c, attention="additive") for cell in CELLS},
}


class Case:
    """A decoder, a bidirectional encoder's result to read, and target tokens."""

    def __init__(self, form: str, dtype: torch.dtype = torch.double) -> None:
        self.decoder: Decoder = shake(FORMS[form]()).to(dtype)  # type: ignore[assignment]
        network = Recurrent("lstm", 3, M // 2, layers=2, bidirectional=True)
        self.encoder = Encoder(TokenInput(V, 3), network).to(dtype)
        self.source, self.ids = torch.randint(V, (B, S)), torch.randint(V, (B, T))
        self.reads = form != "transformer-alone"
        self.encoded: Encoded | None = None
        if self.reads:
            with torch.no_grad():
                self.encoded = self.encoder(self.source, LENGTHS)

    def some(self, rows: Tensor) -> Encoded | None:
        return None if self.encoded is None else self.encoded.select(rows)


def steps(decoder: Decoder, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
    found = []
    for column in ids.unbind(1):
        logits, state = decoder.step(column, state)
        found.append(logits)
    return torch.stack(found, 1), state


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float, 1e-5), (torch.double, 1e-10)])
def test_step_by_step_is_as_all_at_once(form: str, dtype: torch.dtype, atol: float) -> None:
    case = Case(form, dtype)
    whole = case.decoder(case.ids, case.encoded)
    assert whole.shape == (B, T, V)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            found, _ = steps(case.decoder, case.ids, case.decoder.start(case.encoded))
        close(found, whole, atol)


def test_a_batch_is_as_alone_and_padding_never_matters(form: str) -> None:
    case = Case(form)
    weight, parameters = normal(B, T, V), list(case.decoder.parameters())
    lengths = LENGTHS.tolist() if case.reads else [S] * B
    alone = []
    for i, n in enumerate(lengths):
        one = case.some(torch.tensor([i]))
        one = one and Encoded(one.outputs[:, :n], None, one.state)
        y = case.decoder(case.ids[i : i + 1], one)
        alone.append([y, *gradients(y, weight[i : i + 1], *parameters)])
    for content in (0.0, NAN, 1e4) if case.reads else (0.0,):
        given = case.encoded
        if given is not None:
            filled = given.outputs.masked_fill(~given.keep[..., None], content)
            given = Encoded(filled, given.lengths, given.state)
        y = case.decoder(case.ids, given)
        for row, (y_alone, *_) in zip(y, alone):
            close(row, y_alone[0])
        by_parameters = gradients(y, weight, *parameters)
        for g, parts in zip(by_parameters, zip(*(found[1:] for found in alone))):
            close(g, sum(parts))
        found, _ = steps(case.decoder, case.ids, case.decoder.start(given))
        close(found, y)


def test_later_tokens_change_nothing_before_them(form: str) -> None:
    case = Case(form)
    other = case.ids.clone()
    other[:, 3:] = (other[:, 3:] + 1) % V
    close(case.decoder(other, case.encoded)[:, :3], case.decoder(case.ids, case.encoded)[:, :3])


def test_selected_rows_go_on_as_if_they_had_been_there_from_the_start(form: str) -> None:
    case = Case(form)
    rows = torch.tensor([2, 0, 0, 1, 2])
    with torch.no_grad():
        _, state = steps(case.decoder, case.ids[:, :2], case.decoder.start(case.encoded))
        whole = case.decoder(case.ids[rows], case.some(rows))
        chosen = case.decoder.select(state, rows)
        found, _ = steps(case.decoder, case.ids[rows][:, 2:], chosen)
        close(found, whole[:, 2:])
        # Nothing of that has touched the state it came from.
        found, _ = steps(case.decoder, case.ids[:, 2:], state)
        close(found, case.decoder(case.ids, case.encoded)[:, 2:])
        early = case.decoder.select(case.decoder.start(case.encoded), rows)
        close(steps(case.decoder, case.ids[rows], early)[0], whole)


def test_a_gradient_reaches_every_parameter_of_decoder_and_encoder(form: str) -> None:
    case = Case(form)
    named = list(case.decoder.named_parameters())
    named += list(case.encoder.named_parameters()) if case.reads else []
    weight, parameters = normal(B, T, V), [p for _, p in named]

    def found(way: Callable[..., Tensor]) -> list[Tensor]:
        encoded = case.encoder(case.source, LENGTHS) if case.reads else None
        return gradients(way(encoded), weight, *parameters)

    pairs = zip(
        found(lambda encoded: case.decoder(case.ids, encoded)),
        found(lambda encoded: steps(case.decoder, case.ids, case.decoder.start(encoded))[0]),
    )
    for (name, _), (whole, by_steps) in zip(named, pairs):
        assert whole.isfinite().all(), name
        assert whole.any(), name
        close(whole, by_steps)


@pytest.mark.parametrize("form", ["none", "additive", "feeding", "concat", "transformer"])
def test_gradcheck(form: str) -> None:
    case = Case(form)
    memory, lengths, state, _ = case.encoded

    def run(memory: Tensor, h: Tensor) -> Tensor:
        layers = (state[0], ((h, state[1][0][1]), state[1][1]))
        return case.decoder(case.ids[:, :3], Encoded(memory, lengths, layers))

    inputs = [memory.clone().requires_grad_(), state[1][0][0].clone().requires_grad_()]
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("form", ["additive", "dot", "scaled", "general", "concat", "feeding"])
def test_the_alignment_sums_to_one_over_the_source(form: str) -> None:
    case = Case(form)
    with record(case.decoder, "alignment") as trace:
        case.decoder(case.ids, case.encoded)
    weights = trace["alignment"]
    assert weights.shape == (B, T, S)
    close(weights.sum(-1), torch.ones(B, T).double())
    assert not weights.masked_select(~case.encoded.keep[:, None]).any()
    state = case.decoder.start(case.encoded)
    assert state.alignment is None
    for t, column in enumerate(case.ids.unbind(1)):
        with record(case.decoder, "alignment") as trace:
            _, state = case.decoder.step(column, state)
        close(state.alignment, weights[:, t])
        close(trace["alignment"][:, 0], weights[:, t])


@pytest.mark.parametrize("attention", ["none", "additive", "general"])
@pytest.mark.parametrize("cell", CELLS)
def test_the_native_single_step_is_the_same(cell: str, attention: Any) -> None:
    decoder = recurrent(cell, attention=attention, hidden=32, layers=2)
    memory, ids = torch.randn(B, S, M), torch.randint(V, (B, T))
    with torch.no_grad():
        found, _ = steps(decoder, ids, decoder.start(Encoded(memory)))
    close(found, decoder(ids, Encoded(memory)).detach(), 1e-5)


@pytest.mark.parametrize("form", ["none", "additive", "general", "feeding", "transformer"])
def test_bfloat16_is_near(form: str) -> None:
    case = Case(form, torch.float)
    expected = case.decoder(case.ids, case.encoded).detach()
    with torch.autocast("cpu", torch.bfloat16):
        found = case.decoder(case.ids, case.encoded)
        stepped, _ = steps(case.decoder, case.ids, case.decoder.start(case.encoded))
    for y in (found, stepped):
        close(y.detach().float(), expected, 0.1 * float(expected.abs().max()))


def test_the_equations_of_additive_attention() -> None:
    """Bahdanau's step written out, and s_0 from both directions of the encoder."""
    decoder = shake(recurrent("elman", attention="additive")).double()
    memory, forwards, backwards = normal(B, S, M), normal(B, M // 2), normal(B, M // 2)
    state = decoder.start(Encoded(memory, None, (((forwards,), (backwards,)),)))
    (W_s,) = decoder.W_s
    s_0 = torch.tanh(W_s(torch.cat([forwards, backwards], -1)))
    close(state.cells[0][0][0], s_0)
    ids = torch.randint(V, (B,))
    context, weights = decoder.attention(s_0, memory)
    cell = decoder.recurrent.cells()[0][0]
    s_1, _ = cell.step(cell.project(torch.cat([decoder.embedding(ids), context], -1)), (s_0,))
    h = torch.tanh(decoder.W_c(torch.cat([context, s_1], -1)))
    logits, state = decoder.step(ids, state)
    close(logits, h @ decoder.output.V.T + decoder.output.b)
    close(state.alignment, weights)


def test_without_a_state_the_mean_of_the_memory_starts() -> None:
    decoder = recurrent(attention="none").double()
    memory, lengths = normal(2, S, M), torch.tensor([2, S])
    memory[0, 2:] = NAN
    h = torch.stack([memory[0, :2].mean(0), memory[1].mean(0)])
    close(decoder.start(Encoded(memory, lengths)).vector, h)
    close(decoder.start(Encoded(memory[:, :2])).vector[0], h[0])


@pytest.mark.parametrize("form", ["none", "dot", "stacked-none", "additive", "feeding"])
def test_all_steps_at_once_wherever_the_cell_need_not_wait(form: str) -> None:
    case, calls = Case(form), []
    recurrent = case.decoder.get_submodule("recurrent")
    recurrent.register_forward_hook(lambda module, inputs, output: calls.append(inputs[0].shape[1]))
    case.decoder(case.ids, case.encoded)
    assert calls == ([1] * T if form in ("additive", "feeding") else [T])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="input_feeding is for multiplicative attention"):
        recurrent(attention="additive", input_feeding=True)
    with pytest.raises(ConfigError, match="general"):
        recurrent(attention="generl")
    with pytest.raises(ValueError, match="needs a query as large as the memory"):
        recurrent(attention="dot", hidden=M + 1)
    with pytest.raises(ValueError, match="reads a memory"):
        recurrent().start()
    with pytest.raises(ValueError, match="the encoder has 1 layers, too few for 2"):
        recurrent(layers=2).start(Encoded(torch.randn(B, S, M), None, (((torch.randn(B, M),),),)))
    with pytest.raises(ValueError, match="reads a memory"):
        TransformerSeqDecoder(V, OPTIONS).start()
