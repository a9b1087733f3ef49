"""Gradients through time in a whole model: its cell, others, and its answers.

In: a task, its model, perhaps a text. Out: a `GradientFlow` for its cell and for others of the same
size; or how much an answer depends on the state at each token.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.errors import ConfigError, Option
from unspool.insight.gradients import CELL_NAMES, GradientFlow, flow, fresh, gradient_flow, what_ifs
from unspool.insight.inputs import seen_by
from unspool.nn.cells import Cell
from unspool.nn.inputs import OneHot, TokenInput, VectorInput
from unspool.nn.recurrent import Recurrent
from unspool.nn.taps import record, taps
from unspool.tasks import Task
from unspool.tasks.encoder import checked_options
from unspool.tasks.reading import Reading

CLIP = 1.0  # the longest that a gradient may get, as in training


def not_recurrent() -> ConfigError:
    return ConfigError(
        "gradients through time are of a recurrent model",
        remedy=("look at a run of ", Option(model="lstm"), " or another cell"),
    )


def flow_of_run(
    task: Task,
    model: nn.Module,
    reading: Reading | None = None,
    *,
    distance: int = 200,
    seed: int = 1,
    what_if: bool = False,
) -> GradientFlow:
    """The first layer of a trained model, the same cell with fresh weights, and other fresh cells
    of the same size, all of which read the same: the text of the reading, or without one random
    tokens. `what_if`: instead of fresh cells the trained one with one thing different."""
    network = _recurrent(model)
    cell, settings = network.cells()[0][0], task.config.model
    x = (
        _random(model, cell, distance + 1, seed)
        if reading is None
        else seen_by(network, reading)[0].float()
    )
    if reading is not None and reading.input.backwards:
        x = x.flip(0)
    cells = {f"{settings.cell}, this run": cell}
    if what_if:
        cells |= what_ifs(cell)
        gradients = gradient_flow(cells, distance=max(1, len(x) - 1), x=x, seed=seed)
        clipped = flow(cell, x, name=f"clipped at {CLIP:g}", clip=CLIP, seed=seed)
        return GradientFlow([*gradients.flows, clipped])
    for name in dict.fromkeys([settings.cell, *CELL_NAMES]):
        options = checked_options(settings) if name == settings.cell else None
        made = fresh(name, cell.inputs, cell.hidden, options=options, seed=seed)
        cells[f"{name}, fresh"] = made
    return gradient_flow(cells, distance=max(1, len(x) - 1), x=x, seed=seed)


def _recurrent(model: nn.Module) -> Recurrent:
    encoder: Any = getattr(model, "encoder", None)
    network = getattr(encoder, "network", None)
    if not isinstance(network, Recurrent):
        raise not_recurrent()
    return network


def _random(model: Any, cell: Cell, count: int, seed: int) -> Tensor:
    """Inputs of the cell for random tokens; for series, the output of the input layer on noise;
    noise, where more is read than vectors of tokens, or images and frames."""
    generator, layer = torch.Generator().manual_seed(seed), model.encoder.input
    if isinstance(layer, VectorInput):
        return layer(torch.randn(count, layer.channels, generator=generator)).detach()
    embedding = layer.embedding if isinstance(layer, TokenInput) else None
    if embedding is None or embedding.size != cell.inputs:
        return torch.randn(count, cell.inputs, generator=generator)
    ids = torch.randint(embedding.vocab, (count,), generator=generator)
    return ids if isinstance(embedding, OneHot) else embedding.weight.detach()[ids]


class StateGradients(NamedTuple):
    """‖∂F/∂h_t‖ (T) of one layer and direction, F the log odds of an answer of the whole model."""

    path: str
    norms: np.ndarray


def state_gradients(
    reading: Reading, model: nn.Module, step: int, answer: int
) -> list[StateGradients]:
    """The gradient of an answer at every hidden state of a recurrent model: through its layers, its
    attention and its output, on the input itself."""
    paths = [path for path in taps(model) if path.startswith("encoder") and "hidden_state" in path]
    if not paths:
        raise not_recurrent()
    with torch.enable_grad(), record(model, *paths) as trace:
        value = reading.answer.explained(reading.run(), step, answer)
        steps = [trace.every_step(path) for path in paths]
        every = torch.autograd.grad(
            value.sum(), [s for states in steps for s in states], materialize_grads=True
        )
    gradients, done = [], 0
    for path, states in zip(paths, steps):
        norms = np.array([float(g.norm()) for g in every[done : done + len(states)]])
        gradients.append(StateGradients(path, norms[::-1] if reading.input.backwards else norms))
        done += len(states)
    return gradients
