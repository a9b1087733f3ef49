"""Groups in the choice of a model: configs in, those that hold out whole groups where a column
names speakers, subjects or the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from unspool.config import Config
from unspool.config.resolve import changed
from unspool.data.corpus import Corpus
from unspool.data.groups import RowGroups, find_groups, read_groups
from unspool.data.plan import Plan
from unspool.errors import DataError, Option
from unspool.tasks import TASKS
from unspool.training.progress import Shown


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
