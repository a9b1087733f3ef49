"""How fast is a convolution over sentences, against torch's over the padded batch?

    python bench/convolution.py [--quick] [--json FILE] [--threads N] [--rounds N]

A training step is one forward and backward pass through filters of several widths, relu and the
largest value over time, with the gradient of the input. Lengths are drawn evenly between two
bounds, as in a batch of rows of similar length. Contestants take turns. Printed: milliseconds a
step by the median, and how many times as fast as torch.nn.Conv1d ours is.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn

from timing import parser, ratio, set_up, take_turns, write_json
from unspool.nn import Convolution
from unspool.nn.masks import keep_mask
from unspool.nn.pooling import MaxPooling


class Case(NamedTuple):
    batch: int
    shortest: int
    longest: int
    inputs: int
    filters: int
    widths: tuple[int, ...]


CASES = {
    "sentences, 3 widths": Case(50, 15, 30, 300, 100, (2, 3, 4)),
    "sentences, width 5": Case(50, 15, 30, 16, 128, (5,)),
    "reviews, 3 widths": Case(32, 150, 300, 128, 100, (2, 3, 4)),
    "characters of words": Case(600, 2, 10, 16, 64, (1, 2, 3, 4, 5)),
}


class Padded(nn.Module):
    """torch's convolution over a batch whose padding is zero."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv1d(case.inputs, case.filters, width, padding="same") for width in case.widths
        )

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        keep = keep_mask(lengths, x.shape[1])[..., None]
        x = (x * keep).transpose(1, 2)
        found = torch.cat([convolution(x) for convolution in self.convolutions], 1)
        return torch.relu(found).transpose(1, 2) * keep


def main() -> int:
    options = parser(__doc__, rounds=15).parse_args()
    machine = set_up(options)
    rows = []
    print(f"{'':<22}{'torch, ms':>12}{'ours, ms':>12}{'times as fast':>16}")
    for name, case in CASES.items():
        if options.quick:
            case = case._replace(batch=4)
        torch.manual_seed(1)
        lengths = torch.randint(case.shortest, case.longest + 1, (case.batch,))
        x = torch.randn(case.batch, int(lengths.max()), case.inputs, requires_grad=True)
        models = {
            "torch": Padded(case),
            "ours": Convolution(case.inputs, case.filters, case.widths),
        }
        pooling = MaxPooling(case.filters * len(case.widths))

        def step(model: nn.Module, x: Tensor = x, lengths: Tensor = lengths) -> None:
            pooling(model(x, lengths), lengths).sum().backward()  # noqa: B023

        turns = {key: (lambda model=model: step(model)) for key, model in models.items()}
        seconds = take_turns(turns, options.rounds)
        faster = ratio(seconds["torch"], seconds["ours"])
        times = {key: 1000 * median(found) for key, found in seconds.items()}
        print(f"{name:<22}{times['torch']:>12.2f}{times['ours']:>12.2f}{faster:>16.2f}")
        rows.append({"case": name, **case._asdict(), "milliseconds": times, "ratio": faster})
    write_json(options.json, machine, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
