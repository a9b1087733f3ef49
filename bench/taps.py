"""What does a tap cost while nobody records?

    python bench/taps.py [--quick] [--json FILE] [--threads N] [--rounds N]

Each model takes part three times: as it is; a copy in which every tap has become a plain function
that gives back what it is given; and a second copy as it is, which shows how far two equal
contestants are apart. A piece of work is one forward and backward pass over a batch, or of
`writing` one token after another. All take turns in one process, in another order every round.

Printed: the median time of a model as it is, and by how much longer the copy without taps and the
equal copy take, as the median over rounds of the difference within a round. Time is the
processor's, of all threads together, so that what else the machine does counts little.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from timing import Work, parser, set_up, write_json
from unspool.nn import (
    Encoder,
    Recurrent,
    RecurrentDecoder,
    Seq2Seq,
    Tap,
    TokenInput,
    TransformerEncoder,
    TransformerOptions,
)
from unspool.nn.cells import steady

AS_IT_IS, WITHOUT, EQUAL = "as it is", "without taps", "equal copy"


def same(value: Tensor) -> Tensor:
    return value


def without_taps(model: nn.Module) -> nn.Module:
    bare = copy.deepcopy(model)
    for module in list(bare.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Tap):
                delattr(module, name)
                module.__dict__[name] = same  # found before nn.Module looks for a child
    return bare


def learning(model: nn.Module, *inputs: Tensor | None) -> Work:
    def work() -> None:
        model.zero_grad()
        found = model(*inputs)
        (found if isinstance(found, Tensor) else found.outputs).sum().backward()

    return work


def writing(model: nn.Module, x: Tensor, steps: int) -> Work:
    def work() -> None:
        with torch.inference_mode(), steady(model):
            state = None
            for _ in range(steps):
                state = model(x, None, state).state

    return work


def cases(quick: bool) -> dict[str, tuple[nn.Module, Callable[[nn.Module], Work]]]:
    """A model by its name, and the work that is made of it and of its copies."""
    batch, steps, size = (4, 8, 32) if quick else (32, 50, 128)
    torch.manual_seed(1)
    x = torch.randn(batch, steps, size)
    ids = torch.randint(1000, (batch, steps))
    lengths = torch.full((batch,), steps)
    lengths[::2] = steps // 2
    network = Recurrent("gru", size, size, bidirectional=True)
    encoder = Encoder(TokenInput(1000, size), network)
    decoder = RecurrentDecoder(1000, memory=2 * size, embedding=size, cell="gru", hidden=size)
    return {
        "lstm, 2 layers": (
            Recurrent("lstm", size, size, layers=2),
            lambda model: learning(model, x, lengths),
        ),
        "lstm, its loop": (
            Recurrent("lstm", size, size, layers=2, fast=False),
            lambda model: learning(model, x, lengths),
        ),
        "lstm, writing": (
            Recurrent("lstm", size, size, layers=2),
            lambda model: writing(model, x[:1, :1], steps),
        ),
        "transformer, 4 blocks": (
            TransformerEncoder(TransformerOptions(size, 4, layers=4)),
            lambda model: learning(model, x, lengths),
        ),
        "bahdanau": (
            Seq2Seq(encoder, decoder),
            lambda model: learning(model, ids, lengths, ids),
        ),
    }


def measure(works: dict[str, Work], rounds: int) -> dict[str, list[float]]:
    """Seconds of each round; one round more is run first and not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    order = list(works)
    shuffle = random.Random(1).shuffle
    for turn in range(rounds + 1):
        shuffle(order)
        for name in order:
            start = time.process_time()
            works[name]()
            if turn:
                seconds[name].append(time.process_time() - start)
    return seconds


def difference(base: list[float], others: list[float]) -> float:
    """By what share the others take longer, as the median over rounds."""
    return median(b / a - 1 for a, b in zip(base, others))


def main() -> None:
    options = parser(__doc__, rounds=200).parse_args()
    machine = set_up(options)
    rows: list[dict[str, Any]] = []
    print(f"{'model':<24}{'ms':>9}{WITHOUT:>15}{EQUAL:>13}")
    for name, (model, work) in cases(options.quick).items():
        contestants = {AS_IT_IS: model, WITHOUT: without_taps(model), EQUAL: copy.deepcopy(model)}
        works = {kind: work(each) for kind, each in contestants.items()}
        seconds = measure(works, options.rounds)
        base = seconds[AS_IT_IS]
        shares = {kind: difference(base, seconds[kind]) for kind in (WITHOUT, EQUAL)}
        rows.append({"model": name, "seconds": median(base), **shares})
        print(
            f"{name:<24}{1e3 * median(base):9.2f}{shares[WITHOUT]:15.2%}{shares[EQUAL]:13.2%}",
            flush=True,
        )
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
