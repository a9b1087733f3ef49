"""Baselines of handwriting: one Gaussian, and a bigram of moves, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unspool.data.part import Part
from unspool.nn.mixture import LEAST
from unspool.nn.models.handwriting import CELLS, Bigram, OneGaussian
from unspool.tasks.linear import Fitting

if TYPE_CHECKING:
    from unspool.tasks.handwrite.task import Handwrite

PRIORS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # moves that those of all count for, after each
USUAL = 10.0
NARROWEST = 0.02  # of a cell, in standard deviations


def fit_baseline(task: Handwrite, parts: Mapping[str, Part]) -> Fitting:
    moves, before, last = next_moves(task, parts["train"])
    model = task.build()
    if isinstance(model, OneGaussian):
        fit_gaussian(model, moves, last)
        return Fitting(model.eval(), [], "one Gaussian, by moments")
    assert isinstance(model, Bigram)
    fit_gaussian(model.gaussian, moves, last)
    edges = np.stack([edges_of(moves[:, axis]) for axis in (0, 1)])
    model.edges.copy_(torch.from_numpy(edges))
    counts = count(model, before, moves)
    valid, log = parts.get("valid"), list[dict[str, Any]]()
    for prior in PRIORS if valid is not None else (USUAL,):
        set_table(model, counts, prior)
        log.append({"prior": prior, **({} if valid is None else task.validate(model, valid))})
    best = min(log, key=lambda trial: trial.get(task.metric.name, 0.0))
    set_table(model, counts, best["prior"])
    note = f"bigram of {CELLS} x {CELLS} cells, a prior of {best['prior']:g} moves"
    note += "" if valid is None else ", chosen on the validation part"
    return Fitting(model.eval(), log, note)


def next_moves(task: Handwrite, part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N, 3) every point that is predicted, (N, 3) the one before it, (N,) whether it is the last
    of its drawing."""
    values = part["strokes"]
    rows = [task.strokes.vectors(values, row) for row in range(len(part))]
    rows = [row for row in rows if len(row) > 1]
    after = np.concatenate([row[1:] for row in rows] or [np.zeros((0, 3))])
    before = np.concatenate([row[:-1] for row in rows] or [np.zeros((0, 3))])
    last = np.zeros(len(after))
    last[np.cumsum([len(row) - 1 for row in rows], dtype=int) - 1] = 1
    return after.astype(np.float32), before.astype(np.float32), last


@torch.no_grad()
def fit_gaussian(model: OneGaussian, moves: np.ndarray, last: np.ndarray) -> None:
    xy, up = moves[:, :2].astype(np.float64), moves[:, 2]
    std = np.maximum(xy.std(0), LEAST)
    rho = float(np.clip(((xy - xy.mean(0)) / std).prod(1).mean(), -0.99, 0.99))
    model.mean.copy_(torch.from_numpy(xy.mean(0)))
    model.log_std.copy_(torch.from_numpy(np.log(std)))
    model.skew.fill_(float(np.arctanh(rho)))
    model.up.fill_(logit(up.sum(), len(up)))
    model.end.fill_(logit((last * up).sum(), up.sum()))


def logit(yes: float, all_: float) -> float:
    """The logit of a share, with one more of each."""
    return float(np.log((yes + 1) / (all_ - yes + 1)))


def edges_of(x: np.ndarray) -> np.ndarray:
    """Cells with as many moves each, but no narrower than `NARROWEST`."""
    edges = np.quantile(x.astype(np.float64), np.linspace(0, 1, CELLS + 1))
    edges[0] -= NARROWEST
    for i in range(1, len(edges)):
        edges[i] = max(edges[i], edges[i - 1] + NARROWEST)
    return edges.astype(np.float32)


def count(model: Bigram, before: np.ndarray, moves: np.ndarray) -> Tensor:
    """(S + 1, S)"""
    first, second = (model.cells(torch.from_numpy(x)) for x in (before, moves))
    inside = second < model.states
    both = first[inside] * model.states + second[inside]
    return torch.bincount(both, minlength=model.table.numel()).view_as(model.table).float()


@torch.no_grad()
def set_table(model: Bigram, counts: Tensor, prior: float) -> None:
    """p(s | r) = (n(r, s) + prior p(s)) / (n(r) + prior), p(s) with a tenth of a move more each"""
    unigram = counts.sum(0) + 0.1
    p = counts + prior * unigram / unigram.sum()
    model.table.copy_((p / p.sum(1, keepdim=True)).log())
