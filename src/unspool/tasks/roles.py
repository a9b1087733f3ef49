"""Roles of columns: what a task reads and answers, as data that the planner matches to a table."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.media import Medium
from unspool.errors import Message
from unspool.tasks.inputs.kind import Target


class PlanHook(Protocol):
    """A function that plans what the kinds of input do not cover."""

    def __call__(
        self, task: str, table: Table, data: DataConfig, *, named: bool, outputs: bool
    ) -> Plan | None:
        """How the task reads a table, None where it cannot.

        named     the user has named the task: what stands in its way is a DataError
        outputs   whether the fields to be predicted are read; without them, as for prediction,
                  plain text is one document a line
        """


class Lacking(NamedTuple):
    """The error of a table in which a named task finds nothing."""

    message: str
    remedy: Message


class Roles(NamedTuple):
    """Inputs and answers of a task.

    target     field that is learnt of images, sound, series and the like; None: these are not read
    plan       plans everything else
    lacking    raised where the user has named the task and there is no plan
    default_input  kind of input, where the data do not say
    implied_by  settings of `data` that only this task reads: it is meant where one is set

    Where no task is named, `plan` is called for tables that meet all of these conditions:

    guessed    whether the task may be chosen at all
    fallback   no other task has a plan
    documents  a table holds texts, a document a row
    typed      values may be lists or objects, or are tokens of sentences
    numeric    a column holds numbers or vectors
    medium     a column holds, or names, values of this medium
    columns    groups of names; a column has one of each, or the user has named columns
    """

    target: Target | None = None
    plan: PlanHook | None = None
    lacking: Lacking | None = None
    default_input: str = "text"
    implied_by: tuple[str, ...] = ()
    guessed: bool = True
    fallback: bool = False
    documents: bool = False
    typed: bool = False
    numeric: bool = False
    medium: Medium | None = None
    columns: tuple[tuple[str, ...], ...] = ()
