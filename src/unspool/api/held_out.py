"""The rows that choose between models: configs and data in; folds, and whole groups that are held
out where a column names speakers, subjects or the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from unspool.config import Config, DataConfig
from unspool.config.resolve import changed
from unspool.data.corpus import Corpus
from unspool.data.groups import RowGroups, find_groups, read_groups
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.errors import DataError, Option
from unspool.tasks import TASKS
from unspool.training.progress import Shown
from unspool.training.trainer import usual_epochs

FOLDS = 5
FEW = 50  # held-out rows, below which folds choose even without a budget,
FEWEST_EPOCHS = 10  # where a training of so many
QUICK = 5_000_000  # reads no more steps of sequences than this
SOME = 500  # held-out rows, below which folds choose with a budget, or where a training reads
SHORT = 2_000_000  # no more steps


class Grouped(NamedTuple):
    """Configs of the models to choose from, and the corpus of one of them."""

    configs: dict[str, Config]
    corpus: Corpus


def with_groups(
    configs: dict[str, Config],
    name: str,
    corpus: Corpus,
    plans: Mapping[str, Plan],
    shown: Shown,
) -> Grouped:
    """Keep groups of rows together, unless a setting or a part that comes with the data decides.

    `name`: of the model whose corpus it is.
    """
    first = configs[name]
    unchanged = Grouped(configs, corpus)
    if first.data.group != "auto" or "valid" in plans:
        return unchanged
    groups = find_groups(plans["train"])
    if groups is None or shares(groups, plans):
        return unchanged
    share = max(first.data.valid_share, groups.largest)
    settings = {"data.group": groups.column, "data.valid_share": share}
    grouped = {name: changed(c, settings) for name, c in configs.items()}
    first = grouped[name]
    try:
        corpus = TASKS[first.task].load_corpus(first, dict(plans), progress=shown.progress)
    except DataError:  # such as a label that is in the held-out groups alone
        return unchanged
    shown.note(
        f"groups: the rows of each {groups.shown} are learnt from or held out together, so that"
        f" the choice is for new ones ({Option(group='none')} ignores them)"
    )
    return Grouped(grouped, corpus)


def shares(groups: RowGroups, plans: Mapping[str, Plan]) -> bool:
    """Whether a test part has groups of the training part, or does not say, so that its scores are
    not those of new ones."""
    for name, plan in plans.items():
        if name == "train":
            continue
        if groups.column not in {column.name for column in plan.table.columns}:
            return True
        if set(read_groups(plan, groups.column).tolist()) & set(groups.names.tolist()):
            return True
    return False


def folds_for(config: Config, corpus: Corpus, plans: dict[str, Plan], *, budget: bool) -> int:
    """Number of folds that choose the model; 0: the validation part does."""
    if "valid" in plans:
        return 0
    kind: Any = TASKS[config.task]
    parts = {name: part for name, part in corpus.parts.items() if name != "test"}
    groups, folds = None, FOLDS
    if config.data.grouped:
        names = read_groups(plans["train"], config.data.group)
        groups = np.concatenate([names[part.rows] for part in parts.values()])
        folds = min(FOLDS, len(set(groups.tolist())))
    if budget:
        small = groups is not None or "valid" not in parts or len(parts["valid"]) < SOME
    else:
        few = groups is not None or len(parts["valid"]) < FEW
        small = few and quick_epochs(parts["train"]) >= FEWEST_EPOCHS
        usual = config.data.valid_share == DataConfig().valid_share and len(parts["valid"]) < SOME
        small |= usual and steps_read(config, parts["train"]) <= SHORT
    return folds if small and kind(config, corpus.fields).fits_folds(parts, folds, groups) else 0


def shortened(config: Config, corpus: Corpus) -> Config:
    """The config of a model with no more epochs than are quick in each of several folds."""
    most = quick_epochs(corpus.parts["train"])
    return changed(config, {"train.epochs": most}) if config.train.epochs > most else config


def steps_read(config: Config, train: Part) -> int:
    """Steps of sequences that a training reads."""
    settings = config.train
    updates = -(-len(train) // settings.batch)
    epochs = settings.epochs or usual_epochs(updates, settings.least_steps)
    return epochs * int(train.lengths.sum())


def quick_epochs(train: Part) -> int:
    """Epochs that read no more than `QUICK` steps of sequences."""
    return QUICK // max(1, int(train.lengths.sum()))
