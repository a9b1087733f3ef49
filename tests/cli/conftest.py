"""Running the command in this process, with what it printed."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from unspool.cli import run


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def unspool(capfd):
    """`unspool("train", path)` -> exit code, stdout, stderr."""

    def call(*arguments: object) -> Ended:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ended(code, *capfd.readouterr())

    return call
