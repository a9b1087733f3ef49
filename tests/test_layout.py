"""Nothing outside of `tasks/` knows a task, and nothing that is not made for a kind of field knows
one: the source is parsed, and names of them are looked for.

A string counts where it is the name and nothing else; help texts and docstrings may speak of tasks.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from every_field import field_classes
from unspool.tasks import TASKS
from unspool.tasks.reading import AnswerView, InputView

ROOT = Path(__file__).parents[1] / "src" / "unspool"
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
COLUMN_NAMES = "data/read/columns.py"  # a file may have a column with such a name

FOR_A_FIELD = ("tasks/", "data/fields/", "nn/inputs.py", "embed/", "topic_model/")


def views(kind: type) -> Iterator[str]:
    for sub in kind.__subclasses__():
        yield sub.__name__
        yield from views(sub)


TASK_CLASSES = {kind.__name__ for kind in TASKS.values()} | {*views(InputView), *views(AnswerView)}
TASK_NAMES = set(TASKS) - {"answer"}  # every model gives answers, whatever its task
FIELD_CLASSES = {kind.__name__ for kind in field_classes()}


@cache
def nodes(module: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


def strings(module: str) -> set[str]:
    """All but the values of options, which are the words of a message."""
    options = [node for node in nodes(module) if isinstance(node, ast.Call)]
    options = [node for node in options if getattr(node.func, "id", "") == "Option"]
    worded = {id(keyword.value) for node in options for keyword in node.keywords}
    constants = [node for node in nodes(module) if isinstance(node, ast.Constant)]
    return {n.value for n in constants if isinstance(n.value, str) and id(n) not in worded}


def names(module: str) -> set[str]:
    used = set()
    for node in nodes(module):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            used |= {alias.name for alias in node.names}
    return used


def outside(*places: str) -> list[str]:
    modules = [module for module in MODULES if not module.startswith(places)]
    assert modules
    return modules


def violations(
    modules: list[str], used: Callable[[str], set[str]], forbidden: set[str]
) -> dict[str, list[str]]:
    """The forbidden names by the module that uses them."""
    return {m: sorted(used(m) & forbidden) for m in modules if used(m) & forbidden}


def test_no_name_of_a_task_outside_of_tasks() -> None:
    modules = outside("tasks/", "demos/", "sklearn.py", COLUMN_NAMES)  # an estimator is of one task
    assert violations(modules, strings, TASK_NAMES) == {}


def test_no_class_of_a_task_outside_of_tasks() -> None:
    assert violations(outside("tasks/", "demos/"), names, TASK_CLASSES) == {}


def test_no_kind_of_field_where_any_may_come() -> None:
    assert violations(outside(*FOR_A_FIELD), names, FIELD_CLASSES) == {}


def test_every_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_no_class_is_more_than_three_deep() -> None:
    """Abstract, shared, final: bases outside of the package do not count."""
    bases: dict[str, set[str]] = {}
    for module in MODULES:
        for node in nodes(module):
            if isinstance(node, ast.ClassDef):
                plain = [b.value if isinstance(b, ast.Subscript) else b for b in node.bases]
                bases[node.name] = {base.id for base in plain if isinstance(base, ast.Name)}

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] & bases.keys()), default=0)

    assert {name for name in bases if depth(name) > 3} == set()


def test_no_docstring_begins_with_of() -> None:
    """A docstring begins with a verb or a noun: what a thing is, or does."""
    wrong = [
        f"{module}:{node.body[0].lineno}"
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and (ast.get_docstring(node) or "").startswith("Of ")
    ]
    assert wrong == []
