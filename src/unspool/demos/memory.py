"""Memory of four cells on one task, at distances of 1 to 200 steps.

A sequence begins with a number, which is marked, and 200 other numbers follow. At each of them the
network is asked for the first one: as in "I grew up in France, ... I speak fluent ...", what
decides may lie far back. A number, since one of a few words can be held by units that have run into
their limits, where no gradient is. All cells have the same size, optimiser and number of updates.
The forget gates of the LSTM begin open, with a bias of the logarithm of the distance (Tallec &
Ollivier 2018): from a bias of 1 they have to be learnt open first, which takes more updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.insight.gradients import CELL_NAMES, GradientFlow, gradient_flow
from unspool.insight.plots.recurrence import draw_gradients
from unspool.insight.plots.style import COLOURS, DASHES, plain
from unspool.io.pictures import new_figure, save_picture
from unspool.nn.cells import Cell
from unspool.nn.recurrent import Recurrent
from unspool.training.output_folder import free_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTANCE, UPDATES = 200, 1000
HIDDEN, BATCH, RATE, CLIP = 32, 32, 5e-3, 1.0
GUESSED = 3**-0.5  # the error of always answering 0
SHOWN = (1, 5, 10, 20, 50, 100, 200)


class RecallModel(nn.Module):
    """x (B, T, 2) -> (B, T): at each step, what the first number was."""

    def __init__(self, cell: str, distance: int) -> None:
        super().__init__()
        options = {"forget_bias": math.log(distance)} if cell == "lstm" else None
        self.recurrent = Recurrent(cell, 2, HIDDEN, options=options)
        self.output = nn.Linear(HIDDEN, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.recurrent(x).outputs)[..., 0]

    @property
    def cell(self) -> Cell:
        return self.recurrent.cells()[0][0]


class Learnt(NamedTuple):
    """A trained cell, and its error (root of the mean square) after 0, 1, ... steps."""

    cell: Cell
    errors: np.ndarray


def sequences(count: int, distance: int, generator: torch.Generator) -> Tensor:
    """(count, 1 + distance, 2): numbers between -1 and 1, and a mark at the first."""
    numbers = 2 * torch.rand(count, 1 + distance, generator=generator) - 1
    marks = F.one_hot(torch.zeros(count, dtype=torch.int64), 1 + distance)
    return torch.stack([numbers, marks], -1)


def learn(cell: str, *, distance: int, updates: int, seed: int) -> Learnt:
    """Every batch is a fresh one; so is what is asked at the end."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = RecallModel(cell, distance)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(updates):
        x = sequences(BATCH, distance, generator)
        loss = (model(x) - x[:, :1, 0]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    x = sequences(500, distance, generator)
    with torch.inference_mode():
        errors = (model(x) - x[:, :1, 0]).square().mean(0).sqrt()  # (T,)
    return Learnt(model.cell, errors.numpy())


def flows(learnt: dict[str, Learnt], *, seed: int) -> GradientFlow:
    """Gradients through time of the trained cells, which all read the same sequence."""
    distance = len(next(iter(learnt.values())).errors) - 1
    (x,) = sequences(1, distance, torch.Generator().manual_seed(seed))
    cells = {name: one.cell for name, one in learnt.items()}
    return gradient_flow(cells, distance=distance, x=x, seed=seed)


def table(learnt: dict[str, Learnt]) -> list[str]:
    last = len(next(iter(learnt.values())).errors) - 1
    shown: Sequence[int] = [d for d in SHOWN if d < last] + [last]
    lines = [
        f"error, so many steps after the number (always answering 0 gives {GUESSED:.3f})",
        " " * 5 + "".join(f"{d:>9}" for d in shown),
    ]
    for name, one in learnt.items():
        lines.append(f"{name:<5}" + "".join(f"{one.errors[d]:9.3f}" for d in shown))
    return lines


def figure(learnt: dict[str, Learnt], flow: GradientFlow) -> Figure:
    """Errors and gradients by distance, side by side."""
    drawn = new_figure(9.6, 3.8)
    left, right = drawn.subplots(1, 2)
    for (name, one), colour, dash in zip(learnt.items(), COLOURS, DASHES):
        left.plot(one.errors, color=colour, linestyle=dash, linewidth=1.8, label=name)
    left.axhline(GUESSED, color="0.6", linewidth=0.8, label="always 0")
    left.set_xlim(0, len(one.errors) - 1)
    left.set_ylim(0, None)
    left.set_xlabel("steps after the number")
    left.set_ylabel("error")
    plain(left)
    left.legend(frameon=False, fontsize=8)
    draw_gradients(right, flow)
    return drawn


def run(
    write: Callable[[str], None], *, distance: int = DISTANCE, updates: int = UPDATES, seed: int = 1
) -> None:
    write(f"A number, then {distance} others; at each of them: what was the first?")
    write(f"{updates} updates for each of four cells with {HIDDEN} units; a minute or two in all.")
    learnt = {}
    for name in CELL_NAMES:
        learnt[name] = learn(name, distance=distance, updates=updates, seed=seed)
        write(f"  {name} has learnt")
    flow = flows(learnt, seed=seed)
    write("")
    for line in [*table(learnt), "", *flow.lines()]:
        write(line)
    folder = free_folder("demo", "memory")
    folder.mkdir(parents=True)
    path = folder / "memory.png"
    save_picture(figure(learnt, flow), path)
    write("")
    write(f"As a picture: {path}")
