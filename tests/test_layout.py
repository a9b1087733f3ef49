"""Nothing outside of `tasks/` knows a task, and nothing that is not made for a kind of field knows
one: the source is parsed, and names of them are looked for.

A string counts where it is the name and nothing else; help texts and docstrings may speak of tasks.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from every_field import field_classes
from unspool.tasks import TASKS
from unspool.tasks.reading import Reading

ROOT = Path(__file__).parents[1] / "src" / "unspool"
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
COLUMN_NAMES = "data/read/columns.py"  # a file may have a column with such a name

FOR_A_FIELD = ("tasks/", "data/fields/", "nn/inputs.py", "embed/", "topic_model/")


def readings(kind: type = Reading) -> Iterator[str]:
    for sub in kind.__subclasses__():
        yield sub.__name__
        yield from readings(sub)


TASK_CLASSES = {kind.__name__ for kind in TASKS.values()} | set(readings())
TASK_NAMES = set(TASKS) - {"answer"}  # every model gives answers, whatever its task
FIELD_CLASSES = {kind.__name__ for kind in field_classes()}


def strings(module: str) -> set[str]:
    nodes = ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def names(module: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def outside(*places: str) -> list[str]:
    return [module for module in MODULES if not module.startswith(places)]


@pytest.mark.parametrize("module", outside("tasks/", "demos/", COLUMN_NAMES))
def test_no_name_of_a_task_outside_of_tasks(module: str) -> None:
    assert strings(module) & TASK_NAMES == set()


@pytest.mark.parametrize("module", outside("tasks/", "demos/"))
def test_no_class_of_a_task_outside_of_tasks(module: str) -> None:
    assert names(module) & TASK_CLASSES == set()


@pytest.mark.parametrize("module", outside(*FOR_A_FIELD))
def test_no_kind_of_field_where_any_may_come(module: str) -> None:
    assert names(module) & FIELD_CLASSES == set()
