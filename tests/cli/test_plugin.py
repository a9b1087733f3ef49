"""A cell of the user's by `--plugin`: recorded, asked for, and never imported for a file's sake."""

import json
import sys

import pytest

import unspool as package
from unspool.errors import ConfigError
from unspool.nn.cells import CELLS

CELL = """
import torch
from unspool.nn import Cell
from unspool.nn.cells import CELLS


class Leaky(Cell):
    def __init__(self, inputs, hidden, *, alpha=0.5):
        super().__init__(inputs, hidden)
        self.W = torch.nn.Linear(inputs, hidden)
        self.U = torch.nn.Linear(hidden, hidden, bias=False)
        self.alpha = alpha

    def project(self, x):
        return self.W(x)

    def step(self, u, state):
        (h,) = state
        h = (1 - self.alpha) * h + self.alpha * torch.tanh(u + self.U(h))
        return h, (h,)


CELLS["leaky"] = Leaky
"""
SMALL = ("--set=hidden=8", "--set=embedding=6", "--set=threads=1", "--set=max_steps=2")


@pytest.fixture
def plugin(here, monkeypatch):
    """A module in the folder beside the working one; forgotten afterwards."""
    path = here / "my_leaky_cell.py"
    path.write_text(CELL)

    def forget() -> None:
        CELLS.pop("leaky", None)
        sys.modules.pop("my_leaky_cell", None)

    yield path, forget
    forget()


def test_a_cell_by_plugin(unspool, reviews, plugin, here, monkeypatch) -> None:
    path, forget = plugin
    out = here / "run"
    assert "unknown model" in unspool("train", reviews, "--model", "leaky", "--out", out).err
    ended = unspool(
        "train", reviews, "--model", "bileaky", "--plugin", path, "--set", "alpha=0.3",
        "--out", out, *SMALL,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert json.loads((out / "config.json").read_text())["plugin"] == "my_leaky_cell"
    assert unspool("predict", out, "a fine film").code == 0  # it is still there
    forget()
    monkeypatch.chdir(here)
    for command in (
        ("predict", out, "a fine film"),
        ("evaluate", out, reviews),
        ("look", out, "a fine film"),
        ("summary", out),
        ("train", "--resume", "--out", out),
    ):
        ended = unspool(*command)
        assert ended.code == 2, command
        line = ended.err.splitlines()[-1]
        assert "config.json: unknown cell; got 'leaky'." in line
        assert "If you trust its author, load its code with --plugin my_leaky_cell" in line
        assert "my_leaky_cell" not in sys.modules, "imported because a file names it"
    with pytest.raises(ConfigError, match="with `import my_leaky_cell`"):
        package.load(out)
    ended = unspool("predict", out, "a fine film", "--plugin", "my_leaky_cell")
    assert ended.code == 0, ended.err
    assert unspool("look", out, "a fine film", "--plugin", "my_leaky_cell").code == 0


def test_runs_of_our_cells_need_none(classifier) -> None:
    assert "plugin" not in json.loads((classifier / "config.json").read_text())


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("no_such_module_here", None, "--plugin no_such_module_here: no such module."),
        ("nothing.py", None, "nothing.py: no such plugin file. Check the path"),
        (
            "broken.py",
            "1 / 0",
            "broken.py: cannot be imported (ZeroDivisionError: division",
        ),
        ("broken.py", "import no_such_thing", "cannot be imported (ModuleNotFoundError: No module"),
        ("broken.py", "def f(:", "cannot be imported (SyntaxError: "),
    ],
)
def test_a_plugin_that_cannot_be_imported(here, refused, name, content, says) -> None:
    path = here / name if name.endswith(".py") else name
    if content is not None:
        path.write_text(content)
    refused("settings", "--plugin", path, says=[says])


def test_every_command_has_it(unspool) -> None:
    for command in ("train", "predict", "evaluate", "generate", "summary", "look", "compare"):
        assert "--plugin MODULE" in unspool(command, "--help").out
