"""Do the native kernels leak, race or drift when they run for a long time?

    python bench/soak.py [--minutes 10]

Some 150 cases (every cell, sizes, ragged lengths, both directions, one to three threads, float32
and bfloat16, and a Transformer's decoder) run over and over in a random order. The results of a
case must be the same to the bit each time, and the process may not grow. Ends with an error where
they differ, or where it grows by more than 20 MB after the first two rounds.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from unspool.nn import CELLS, Encoded, Recurrent, TransformerOptions, TransformerSeqDecoder
from unspool.search import SearchRules, beam
from unspool.search.packed import PackedSearch

MOST_GROWTH = 20e6  # bytes


def recurrent_case(cell: str, hidden: int, threads: int, half: bool) -> Callable[[], Tensor]:
    torch.manual_seed(hidden)
    model = Recurrent(cell, 40, hidden, bidirectional=hidden < 100)
    x, lengths = torch.randn(9, 23, 40), torch.randint(1, 24, (9,))

    def run() -> Tensor:
        torch.set_num_threads(threads)
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            outputs = model(x, lengths).outputs
        outputs.sin().sum().backward()
        gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        with torch.inference_mode():
            step = model(x[:2, :1]).outputs
        return torch.cat([outputs.detach().flatten(), step.flatten(), *gradients])

    return run


def decoder_case(threads: int, as_bytes: bool) -> Callable[[], Tensor]:
    torch.manual_seed(1)
    decoder = TransformerSeqDecoder(50, TransformerOptions(64, 4, layers=2)).eval()
    packed, memory = PackedSearch(decoder, as_bytes=as_bytes), torch.randn(5, 7, 64)
    rules, first = SearchRules(end=1, max_length=12), torch.zeros(5, dtype=torch.int64)

    def run() -> Tensor:
        torch.set_num_threads(threads)
        found = beam(packed, packed.start(Encoded(memory)), first, rules, width=3)
        return torch.tensor([best[0].log_probability for best in found])

    return run


def resident() -> float:
    """Bytes that the process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    cases = {
        f"{cell}, {hidden} units, {threads} threads, {'bf16' if half else 'fp32'}": recurrent_case(
            cell, hidden, threads, half
        )
        for cell, hidden, threads, half in product(CELLS, (24, 64, 320), (1, 2, 3), (False, True))
    } | {
        f"decoder, {threads} threads, {'int8' if as_bytes else 'fp32'}": decoder_case(
            threads, as_bytes
        )
        for threads, as_bytes in product((1, 2, 3), (False, True))
    }
    wanted: dict[str, Tensor] = {}
    names, rounds, runs, before = list(cases), 0, 0, 0.0
    while time.monotonic() < end or rounds < 3:
        random.Random(rounds).shuffle(names)
        for name in names:
            found = cases[name]()
            if not torch.equal(found, wanted.setdefault(name, found)):
                sys.exit(f"round {rounds}: {name} gave another result than before")
            runs += 1
        rounds += 1
        if rounds == 2:
            before = resident()
    growth = resident() - before
    print(f"{runs} runs of {len(cases)} cases in {rounds} rounds: all results the same to the bit")
    print(f"the process grew by {growth / 1e6:+.1f} MB from {before / 1e6:.0f} MB")
    if growth > MOST_GROWTH:
        sys.exit("that is a leak")


if __name__ == "__main__":
    main()
