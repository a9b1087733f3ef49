"""How fast does a recurrent decoder with attention learn and write, measured against torch?

    python bench/seq2seq.py [--quick] [--json FILE] [--threads N] [--rounds N] [--only TEXT]

One decoder: additive attention over a memory of 20 vectors of 512, a cell of 256 units, 8,000
tokens. Training is a teacher-forced pass over 64 targets of 20 tokens with all gradients: of the
decoder alone (to the vectors before the output layer), and with the output layer and its loss.
"ragged" draws the lengths of sources and targets evenly from 5 to 20. Searches write exactly 32
tokens. Rounds interleave all contestants in one process.

    torch     GRUCell or LSTMCell, keys projected once, the output layer for all steps at once,
              F.cross_entropy; of searches a greedy loop of the same
    JoeyNMT   its RecurrentDecoder with Bahdanau's attention (training), where it is installed; its
              cell reads h~ (256) instead of the context (512), so it has fewer products to make
    loop      RecurrentDecoder step by step, its readable reference; steps of the cell are native
    native    the same by native kernels

With bf16 all run under torch's autocast. Ratios are to torch, by the medians.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from timing import Work, parser, ratio, set_up, take_turns, write_json
from unspool import native
from unspool.nn.encoder import Encoded
from unspool.nn.masks import keep_mask
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.search import SearchRules, beam, greedy
from unspool.search.packed import PackedRecurrentSearch

TORCH, JOEY, LOOP, NATIVE = "torch", "JoeyNMT", "loop", "native"
BEGIN, END = 1, 2


class Sizes(NamedTuple):
    batch: int
    source: int
    target: int
    hidden: int
    memory: int
    vocab: int


FULL, QUICK = Sizes(64, 20, 20, 256, 512, 8000), Sizes(8, 6, 5, 32, 64, 100)


class Plain(nn.Module):
    """The decoder as one writes it with torch."""

    def __init__(self, cell: str, sizes: Sizes) -> None:
        super().__init__()
        H, D = sizes.hidden, sizes.memory
        self.embedding = nn.Embedding(sizes.vocab, H)
        self.cell = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}[cell](H + D, H)
        self.query, self.key = nn.Linear(H, H, bias=False), nn.Linear(D, H, bias=False)
        self.score = nn.Linear(H, 1, bias=False)
        self.start = nn.Linear(D, 2 * H if cell == "lstm" else H)
        self.join = nn.Linear(D + H, H, bias=False)
        self.output = nn.Linear(H, sizes.vocab)

    def begin(self, memory: Tensor, keep: Tensor | None) -> Any:
        if keep is None:
            mean = memory.mean(1)
        else:
            mean = (memory * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)
        start = torch.tanh(self.start(mean))
        return start.chunk(2, -1) if isinstance(self.cell, nn.LSTMCell) else start

    def step(self, y: Tensor, state: Any, memory: Tensor, keys: Tensor, mask: Any) -> Any:
        h = state[0] if isinstance(state, tuple) else state
        e = self.score(torch.tanh(self.query(h)[:, None] + keys)).squeeze(-1)
        if mask is not None:
            e = e.masked_fill(mask, -torch.inf)
        context = torch.bmm(e.softmax(-1)[:, None].to(memory.dtype), memory)[:, 0]
        state = self.cell(torch.cat([y, context], -1), state)
        return torch.cat([context, state[0] if isinstance(state, tuple) else state], -1), state

    def vectors(self, ids: Tensor, memory: Tensor, keep: Tensor | None) -> Tensor:
        keys, state, mask = self.key(memory), self.begin(memory, keep), None
        mask = None if keep is None else ~keep
        found = []
        for y in self.embedding(ids).unbind(1):
            read, state = self.step(y, state, memory, keys, mask)
            found.append(read)
        return torch.tanh(self.join(torch.stack(found, 1)))

    def search(self, memory: Tensor, tokens: int) -> Tensor:
        keys, state = self.key(memory), self.begin(memory, None)
        ids, written = torch.full((len(memory),), BEGIN), []
        for _ in range(tokens):
            read, state = self.step(self.embedding(ids), state, memory, keys, None)
            logits = self.output(torch.tanh(self.join(read)))
            logits[:, : END + 1] = -torch.inf
            ids = logits.argmax(-1)
            written.append(ids)
        return torch.stack(written, 1)


class Loop(RecurrentDecoder):
    def unsupported_reason(self, y: Tensor) -> str | None:
        return "the loop is wanted"


def joey(cell: str, sizes: Sizes) -> nn.Module:
    from joeynmt.decoders import RecurrentDecoder as Theirs

    return Theirs(
        rnn_type=cell,
        emb_size=sizes.hidden,
        hidden_size=sizes.hidden,
        encoder=SimpleNamespace(output_size=sizes.memory),
        attention="bahdanau",
        num_layers=1,
        vocab_size=sizes.vocab,
        init_hidden="bridge",
    )


class Batch(NamedTuple):
    ids: Tensor
    targets: Tensor
    memory: Tensor
    sources: Tensor | None  # lengths
    lengths: Tensor | None


def make_batch(sizes: Sizes, *, ragged: bool) -> Batch:
    torch.manual_seed(1)
    ids, targets = torch.randint(3, sizes.vocab, (2, sizes.batch, sizes.target))
    memory = torch.randn(sizes.batch, sizes.source, sizes.memory, requires_grad=True)
    sources = lengths = None
    if ragged:
        sources = torch.randint(sizes.source // 4, sizes.source + 1, (sizes.batch,))
        lengths = torch.randint(sizes.target // 4, sizes.target + 1, (sizes.batch,))
        sources[0], lengths[0] = sizes.source, sizes.target
        targets = targets.masked_fill(~keep_mask(lengths, sizes.target), -100)
    return Batch(ids, targets, memory, sources, lengths)


def training(cell: str, sizes: Sizes, batch: Batch, *, loss: bool, half: bool) -> dict[str, Work]:
    """A step of each contestant."""
    keep = None if batch.sources is None else keep_mask(batch.sources, sizes.source)
    real = None if batch.lengths is None else keep_mask(batch.lengths, sizes.target)
    torch.manual_seed(1)
    plain = Plain(cell, sizes)
    ours = {
        name: kind(
            sizes.vocab, memory=sizes.memory, embedding=sizes.hidden, cell=cell, hidden=sizes.hidden
        )
        for name, kind in ((LOOP, Loop), (NATIVE, RecurrentDecoder))
    }

    def cross_entropy(logits: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(0, -2).float(), batch.targets.flatten())

    def step_torch() -> Tensor:
        h = plain.vectors(batch.ids, batch.memory, keep)
        return cross_entropy(plain.output(h)) if loss else h.sum()

    def step_ours(decoder: RecurrentDecoder) -> Tensor:
        encoded = Encoded(batch.memory, batch.sources)
        h = decoder.vectors(batch.ids, encoded, lengths=batch.lengths)
        if not loss:
            return h.sum()
        if real is None:
            return decoder.output.loss(h, batch.targets)
        return decoder.output.loss(h[real], batch.targets[real])

    steps: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {TORCH: (plain, step_torch)}
    if importlib.util.find_spec("joeynmt") is not None:
        theirs, embedding = joey(cell, sizes), nn.Embedding(sizes.vocab, sizes.hidden)
        mask = torch.ones(sizes.batch, sizes.source, dtype=torch.bool) if keep is None else keep

        def step_joey() -> Tensor:
            logits, *_ = theirs(
                trg_embed=embedding(batch.ids),
                encoder_output=batch.memory,
                encoder_hidden=batch.memory.mean(1),
                src_mask=mask[:, None],
                unroll_steps=sizes.target,
            )
            return cross_entropy(logits)

        if loss:  # its output layer is inside
            steps[JOEY] = (theirs, step_joey)
    steps |= {name: (decoder, partial(step_ours, decoder)) for name, decoder in ours.items()}

    def work(model: nn.Module, step: Callable[[], Tensor]) -> None:
        model.zero_grad()
        batch.memory.grad = None
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            found = step()
        found.backward()

    return {name: partial(work, *each) for name, each in steps.items()}


def searching(cell: str, sizes: Sizes, *, batch: int, width: int, tokens: int) -> dict[str, Work]:
    torch.manual_seed(1)
    memory = torch.randn(batch, sizes.source, sizes.memory)
    plain = Plain(cell, sizes).eval()
    decoder = RecurrentDecoder(
        sizes.vocab, memory=sizes.memory, embedding=sizes.hidden, cell=cell, hidden=sizes.hidden
    ).eval()
    packed = PackedRecurrentSearch(decoder)
    rules = SearchRules(end=END, max_length=tokens, min_length=tokens, forbidden=(0, BEGIN))
    first = torch.full((batch,), BEGIN)

    def search(model: Any) -> Any:
        with torch.inference_mode():
            state = model.start(Encoded(memory))
            if width == 1:
                return greedy(model, state, first, rules)
            return beam(model, state, first, rules, width=width)

    def search_torch() -> Tensor:
        with torch.inference_mode():
            return plain.search(memory, tokens)

    theirs: dict[str, Work] = {TORCH: search_torch} if width == 1 else {}
    return {**theirs, LOOP: partial(search, decoder), NATIVE: partial(search, packed)}


def cases(sizes: Sizes, *, quick: bool) -> Iterator[tuple[str, dict[str, Work], int]]:
    """A name, its contestants, and how many steps a piece of work has."""
    halves = (
        [False, True] if native.multiplies_bf16() and native.INSTRUCTIONS != "avx2" else [False]
    )
    for cell in ("gru", "lstm"):
        for half in halves:
            for ragged in (False, True):
                batch = make_batch(sizes, ragged=ragged)
                for loss in (False, True):
                    parts = (cell, "bf16" if half else "fp32", "ragged" if ragged else "full")
                    name = " ".join((*parts, "with loss" if loss else "decoder"))
                    yield name, training(cell, sizes, batch, loss=loss, half=half), 1
    tokens = 4 if quick else 32
    for batch_size in (1, 32):
        for width in (1, 5):
            name = f"gru search, batch {batch_size}, {'greedy' if width == 1 else 'beam 5'}"
            yield (
                name,
                searching("gru", sizes, batch=batch_size, width=width, tokens=tokens),
                tokens,
            )


def main() -> None:
    made = parser(__doc__, rounds=7)
    made.add_argument("--only", default="", help="cases with this in their name")
    options = made.parse_args()
    machine = set_up(options)
    print(f"native {native.ABOUT}; milliseconds a training step, or a step of a search\n")
    sizes, rows = QUICK if options.quick else FULL, []
    for name, contestants, steps in cases(sizes, quick=options.quick):
        if options.only not in name:
            continue
        seconds = take_turns(contestants, 2 if options.quick else options.rounds)
        base = seconds[TORCH] if TORCH in seconds else seconds[LOOP]
        shown = []
        for who, times in seconds.items():
            milliseconds, times_as_fast = 1e3 * median(times) / steps, ratio(base, times)
            shown.append(f"{who} {milliseconds:.2f} ({times_as_fast:.2f})")
            rows.append({"case": name, "who": who, "ms": milliseconds, "ratio": times_as_fast})
        print(f"{name:34} " + "   ".join(shown), flush=True)
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
