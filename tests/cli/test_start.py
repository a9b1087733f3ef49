"""A command loads only what it needs: nobody waits for libraries that the answer does not use."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from unspool import cli

LOADED = """
import json, sys
from unspool.cli import run
run(sys.argv[1:])
print(json.dumps(list(sys.modules)))
"""
HEAVY = {
    *("matplotlib", "pandas", "rich", "sacrebleu", "scipy", "sklearn", "sympy", "tokenizers"),
    *("tensorboard", "torch._dynamo", "torch._inductor", "torch.utils.tensorboard"),
}
OTHERS = {
    *("unspool.api.train", "unspool.insight", "unspool.page", "unspool.search"),
    *("unspool.nn.pretrained", "unspool.native.attention_decoder"),
    *("unspool.tasks.translate.task", "unspool.tasks.generate", "unspool.tasks.tag.task"),
}


def loaded(*arguments: object) -> set[str]:
    """The modules of a fresh process after a command."""
    command = [sys.executable, "-c", LOADED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_predict_loads_one_task_and_nothing_heavy(unspool, file) -> None:
    path = file()
    assert unspool("train", path, "--out", "run", "--set", "epochs=1").code == 0
    found = loaded("predict", "run", "a fine film")
    assert "torch" in found
    assert "unspool.tasks.classify" in found
    assert not found & (HEAVY | OTHERS)


def test_help_does_not_load_torch() -> None:
    assert not loaded("--help") & {"torch", "numpy", "pydantic", *HEAVY}


def test_ctrl_c_while_commands_are_imported(monkeypatch, capsys) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "unspool: stopped\n"
