"""The walks of docs/architecture.md: which modules run, in which order, for three commands.

`python tests/walks.py` traces the commands and writes the tables anew; `test_docs.py` compares them
with a fresh trace. Counted is every function that is called in the main thread after its module was
imported, from the command line to the first gradient, or to the last answer of `predict`.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from films import write_folders
from reviews import write_reviews

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = ROOT / "src" / "unspool"
SMALL = ("--set", "max_steps=1", "--set", "hidden=8", "--set", "precision=fp32")
VIDEO = ("--set", "input=video")

PHASES = {
    "cli.run": "Command line",
    "tasks.planner.open_plan": "Plan",
    "api.settings.make_config": "Settings",
    "training.folder.RunFolder.making": "Run folder",
    "data.corpus.load_corpus": "Corpus",
    "tasks.task.build_model": "Model",
    "training.trainer.Trainer.run": "First training step",
    "training.folder.RunFolder.load_model": "Model",
    "cli.answers.write_answers": "Answers",
}


class Visit(NamedTuple):
    """A module, the function of it that is called first, and the phase in which that happens."""

    module: str
    function: str
    phase: str


class Walk(NamedTuple):
    visits: list[Visit]
    functions: int


def trace(arguments: list[str]) -> dict[str, Any]:
    """Run a command in this process; (module, function) in the order of the first calls."""
    import torch

    from unspool import cli

    called: dict[tuple[str, str], None] = {}
    importing, source = 0, f"{PACKAGE}{os.sep}"

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>" and event in ("call", "return"):
            importing += 1 if event == "call" else -1
        elif event == "call" and not importing and code.co_filename.startswith(source):
            module = code.co_filename.removeprefix(source).removesuffix(".py")
            is_function = code.co_flags & 1  # the body of a class is not
            if is_function and not code.co_name.startswith("<"):
                called.setdefault((module, code.co_qualname.replace(".<locals>", "")))

    class FirstGradient(BaseException):
        pass

    def backward(*_: Any, **__: Any) -> None:
        sys.setprofile(None)
        raise FirstGradient

    torch.Tensor.backward = backward  # type: ignore[method-assign, assignment]
    sys.setprofile(note)
    try:
        code = cli.run(arguments)
    except FirstGradient:
        code = 0
    finally:
        sys.setprofile(None)
    return {"code": code, "called": list(called)}


def walk(folder: Path, *arguments: object) -> Walk:
    """The modules that a command passes, traced in a process of its own."""
    result = folder / "trace.json"
    environment = {**os.environ, "UNSPOOL_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "trace", str(result), *map(str, arguments)]
    subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    traced = json.loads(result.read_text())
    assert traced["code"] == 0
    visits: dict[str, Visit] = {}
    phase = ""
    for module, function in traced["called"]:
        name = module.replace("/", ".").removesuffix(".__init__")
        phase = PHASES.get(f"{name}.{function}", phase)
        visits.setdefault(module, Visit(module, function, phase))
    return Walk(list(visits.values()), len(traced["called"]))


def walks(folder: Path) -> dict[str, Walk]:
    """The walks of the page by the name of their table."""
    reviews, clips = write_reviews(folder / "reviews.csv", 240), write_folders(folder / "clips", 24)
    run = folder / "run"
    train = [sys.executable, "-m", "unspool", "train", str(reviews), "--out", str(run), *SMALL]
    subprocess.run(train, check=True, capture_output=True, cwd=folder)
    return {
        "text": walk(folder, "train", reviews, "--out", folder / "text", *SMALL),
        "video": walk(
            folder, "train", clips, "--set", "input=video", "--out", folder / "video", *SMALL
        ),
        "predict": walk(folder, "predict", run, "--file", reviews),
    }


def purpose(module: str) -> str:
    """The first sentence of a module's docstring."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    paragraph = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
    return paragraph.split(". ")[0].removesuffix(".").replace("|", "\\|")


def table(traced: Walk) -> str:
    """Rows of one phase after the other."""
    lines = [f"{len(traced.visits)} modules, {traced.functions} functions.", ""]
    lines += ["| module | first function | what the module does |", "|---|---|---|"]
    for phase, visits in groupby(traced.visits, lambda visit: visit.phase):
        lines.append(f"| **{phase}** | | |")
        lines += [f"| `{v.module}.py` | `{v.function}` | {purpose(v.module)} |" for v in visits]
    return "\n".join(lines)


def written(text: str, name: str) -> str:
    """The table of a walk, as the page has it."""
    return text.split(f"<!-- walk: {name} -->\n\n")[1].split("\n\n<!-- end -->")[0]


def main() -> None:
    if sys.argv[1:2] == ["trace"]:
        Path(sys.argv[2]).write_text(json.dumps(trace(sys.argv[3:])))
        return
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for name, traced in walks(Path(folder)).items():
            before, after = text.split(f"<!-- walk: {name} -->\n\n")
            rest = after.split("\n\n<!-- end -->", 1)[1]
            text = f"{before}<!-- walk: {name} -->\n\n{table(traced)}\n\n<!-- end -->{rest}"
            print(f"{name}: {len(traced.visits)} modules, {traced.functions} functions")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
