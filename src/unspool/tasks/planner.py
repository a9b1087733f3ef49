"""Matches the roles that tasks declare to the columns of a table.

A path, or columns in memory, comes in; the plan of the named or best task comes out, for learning
or for prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from unspool.config import DataConfig
from unspool.data.plan import Plan
from unspool.data.read import Column, Shape, Table, open_table
from unspool.data.read.columns import plain
from unspool.data.read.memory import Columns, memory_table
from unspool.errors import DataError, Option, choose
from unspool.tasks import TASKS
from unspool.tasks.inputs import INPUTS, TASK_INPUTS
from unspool.tasks.inputs.kind import InputKind, PlanRequest, Target
from unspool.tasks.inputs.media_plan import media_column, plan_media
from unspool.tasks.inputs.text import TextKind
from unspool.tasks.plan import may_be_documents, refuse_names
from unspool.tasks.roles import Roles
from unspool.tasks.task import Task

Source = str | Path | Columns
# Settings of what need not be there.
OUTPUTS = ("label", "source", "target", "pattern")
# The setting that names the column of a field, or the settings that name its columns; `series` for
# fields of vectors.
SETTINGS: dict[str, str | tuple[str, ...]] = {
    "pair": ("text", "text_pair"),
    "question": ("text_pair", "text"),
    "span": "label",
    "story": ("text", "text_pair"),
    "text": "text",
    "caption": "text",
    "words": "text",
    "label": "label",
    "labels": "label",
    "tags": "label",
    "number": "label",
    "source": "source",
    "target": "target",
    "static": "static",
}


def open_plan(source: Source, data: DataConfig, task: str | None = None) -> Plan:
    """The columns for the inputs and outputs of a task; if None, of the one that fits best."""
    table = _open(source, data)
    return choose_plan(table, with_usual(table, table.data), task)


def usual_columns(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The names of the columns that are read, by the settings that name them."""
    if not plan.table.header and "series" not in plan.columns:
        return {}
    settings: dict[str, tuple[str, ...]] = {}
    for field, column in plan.columns.items():
        if field == "name":  # found again by its look
            continue
        names, setting = plan.table.reader.sources(column), SETTINGS.get(field, "series")
        if isinstance(setting, str):
            settings[setting] = names
        else:
            settings |= {option: (name,) for option, name in zip(setting, names)}
    return settings


def with_usual(table: Table, data: DataConfig) -> DataConfig:
    """The settings, completed by the columns that a run was trained on if the table has them."""
    known = table.header or "series" in data.columns  # a series may have columns without names
    names = {column.name for column in table.columns} if known else set()
    settings = {
        setting: ",".join(columns)
        for setting, columns in data.columns.items()
        if getattr(data, setting) is None and names.issuperset(columns)
    }
    return data.model_copy(update=settings)


def open_inputs(source: Source, data: DataConfig, task: str) -> Plan:
    """The columns for the inputs of a task. Those of its outputs need not be there."""
    data = data.model_copy(update={"text": data.text or data.source, **dict.fromkeys(OUTPUTS)})
    table = _open(source, data)
    usual = with_usual(table, table.data)
    data = usual.model_copy(update={"text": usual.text or usual.source, **dict.fromkeys(OUTPUTS)})
    plan = plan_task(TASKS[task], Request(table, data, named=True, outputs=False))
    if plan is None:
        raise no_plan_error(table, task)
    return plan


def _open(source: Source, data: DataConfig) -> Table:
    if data.input != "auto":
        choose("input", data.input, ["auto", *INPUTS, *TASK_INPUTS])
    if isinstance(source, Columns):
        return memory_table(source, data)
    return open_table(str(source), data)


@dataclass
class Request:
    """A table to be planned. What several tasks ask about it is computed once.

    named     the user has named the task: what stands in its way is a DataError
    outputs   whether the fields to be predicted are read
    """

    table: Table
    data: DataConfig
    named: bool = False
    outputs: bool = True

    @cached_property
    def media(self) -> dict[str, Column | None]:
        """The column of each medium, by the name of its kind."""
        media = {kind.name: kind.medium for kind in INPUTS.values() if kind.medium is not None}
        return {name: media_column(self.table, self.data, medium) for name, medium in media.items()}

    @cached_property
    def has_numbers(self) -> bool:
        """Whether a column may hold numbers or vectors."""
        profiles = [column.profile for column in self.table.columns]
        return self.data.series is not None or any(
            not profile.only_strings or profile.is_numbers for profile in profiles
        )

    @property
    def kinds(self) -> list[InputKind]:
        """The kinds of input other than texts; order matters: the first match wins."""
        return [kind for kind in INPUTS.values() if not isinstance(kind, TextKind)]

    def may_hold(self, kind: InputKind) -> bool:
        """Whether values of a kind are not ruled out."""
        return (self.table.typed or not kind.typed) and (self.has_numbers or not kind.numeric)

    def holds(self, kind: InputKind) -> bool:
        """Whether the table has values of a kind, with or without anything to be learnt."""
        if kind.medium is not None:
            return self.media[kind.name] is not None
        return self.may_hold(kind) and kind.holds(self.table, self.data)

    @cached_property
    def holds_documents(self) -> bool:
        """Whether texts are read, rather than sentences, pairs, another kind or mere numbers."""
        if any(map(self.holds, self.kinds)):
            return False
        figures = self.data.text is None and holds_figures(self.table)
        return not figures and may_be_documents(self.table, self.data)

    @cached_property
    def column_names(self) -> set[str]:
        return {plain(column.name) for column in self.table.columns} if self.table.header else set()


def choose_plan(table: Table, data: DataConfig, task: str | None) -> Plan:
    """The plan of the named task, of one that the settings imply, or of the one that fits best."""
    task = task or implied_task(Request(table, data))
    if task is not None:
        named = TASKS[task if task in TASKS else choose("task", task, TASKS)]
        plan = plan_task(named, Request(table, data, named=True))
        if plan is None:
            raise no_plan_error(table, task)
    else:
        plan = best_plan(Request(table, data))
    if data.text is None and "text" in plan.columns:
        refuse_names(table, plan.columns["text"])
    note = table.file_index.note
    return replace(plan, summary=plan.summary + note) if note else plan


def implied_task(request: Request) -> str | None:
    """The task that alone reads one of the settings that differ from their defaults; none for texts
    without dates, for which the setting is refused."""
    data = request.data
    changed = {name for name in data.model_fields_set if getattr(data, name)}
    task = next((t.name for t in TASKS.values() if changed.intersection(t.roles.implied_by)), None)
    if task is None:
        return None
    dated = any(column.profile.date_format is not None for column in request.table.columns)
    return task if dated or not request.holds_documents else None


def best_plan(request: Request) -> Plan:
    """The plan that fits best.

    An error of one task, such as two fields in one column, counts where no other task fits better
    than as a fallback.
    """
    plans, errors = list[Plan](), []
    for task in sorted(TASKS.values(), key=lambda task: task.roles.fallback):
        if task.roles.fallback and plans:
            continue
        try:
            plan = plan_task(task, request)
            plans += [] if plan is None else [plan]
        except DataError as error:
            errors.append(error)
    best = max(plans, key=lambda plan: plan.fit, default=None)
    if errors and (best is None or best.fit == 0):
        raise errors[0]
    if best is None:
        raise no_plan_error(request.table, "any task")
    return best


def plan_task(task: type[Task], request: Request) -> Plan | None:
    roles = task.roles
    if roles.target is not None:
        plan = plan_input(task.name, roles.target, request)
        if plan is not None:
            return plan
    if roles.plan is not None and (request.named or is_candidate(roles, request)):
        plan = roles.plan(
            task.name, request.table, request.data, named=request.named, outputs=request.outputs
        )
        if plan is not None:
            return plan
    if roles.lacking is not None and request.named:
        message, remedy = roles.lacking
        raise DataError(message, where=request.table.name, remedy=remedy)
    return None


def is_candidate(roles: Roles, request: Request) -> bool:
    """Whether a table may be one for a task that is not named."""
    table, data = request.table, request.data
    named = data.text is not None or data.text_pair is not None
    return (
        roles.guessed
        and (not roles.typed or table.typed or table.shape == Shape.SENTENCES)
        and (not roles.numeric or request.has_numbers)
        and (roles.medium is None or request.media[roles.medium.name] is not None)
        and (named or all(map(request.column_names.intersection, roles.columns)))
        and (not roles.documents or request.holds_documents)
    )


def plan_input(task: str, target: Target, request: Request) -> Plan | None:
    """The plan of the first kind of input, other than texts, that the table holds."""
    table, data = request.table, request.data
    if data.input == "pair" and target not in ("label", "number"):
        raise DataError(
            f"{task} reads no pairs of texts",
            where=table.name,
            got="input=pair",
            remedy=("leave it out, or use ", Option(task="classify"), " or regress"),
        )
    wanted = PlanRequest(task, target, request.named, request.outputs)
    for kind in request.kinds:
        if kind.medium is not None:
            files = request.media[kind.name]
            if files is not None or data.input == kind.name:
                return plan_media(kind.medium, files, table, data, wanted)
        elif request.may_hold(kind) or data.input == kind.name:
            plan = kind.plan(table, data, wanted)
            if plan is not None or request.holds(kind):
                return plan
    return None


def holds_figures(table: Table) -> bool:
    """Whether a table with names has nothing but numbers and dates."""
    named = table.shape == Shape.TABLE and not table.typed and table.header
    return named and all(
        column.profile.is_numbers or column.profile.date_format is not None
        for column in table.columns
    )


def no_plan_error(table: Table, task: str) -> DataError:
    numbers = sum(column.profile.is_numbers for column in table.columns)
    if table.shape == Shape.TABLE and table.header and numbers > len(table.columns) / 2:
        return DataError(
            "holds numbers, and nothing says what is to be learnt of them",
            where=table.path,
            remedy=(
                Option(task="forecast", horizon="N"),
                " continues them, ",
                Option(label="COLUMN"),
                " learns a label or a number of a row, ",
                Option(text="COLUMN"),
                " reads them as text",
            ),
        )
    if any(column.profile.is_empty_arrays for column in table.columns):
        return DataError(
            "holds arrays without a number: all values are NaN",
            where=table.path,
            remedy="check how the file was written",
        )
    return DataError(
        f"was read as {table.reader.title}, which holds nothing for {task}",
        where=table.path,
        remedy=("name the format, or another task, with ", Option("format", "task")),
    )
