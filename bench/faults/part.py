"""A part of the attack: what it prepares once, and a case by its number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from supervise import MOST_SECONDS, Case


class Part(ABC):
    """`prepare` fills `folder`; `case` then runs in a process of its own, again and again."""

    name: str
    short: int  # cases of --short
    share = 1.0  # of the time, compared with other parts
    workers = 64  # at most
    batch = 1  # cases that run in one process after each other
    patience = MOST_SECONDS

    def __init__(self, folder: Path, runs: Path) -> None:
        self.folder = folder / self.name
        self.runs = runs  # which parts share

    def prepare(self) -> None:  # noqa: B027  not every part needs something
        """Train what the cases need."""

    def close(self) -> None:  # noqa: B027
        """End what `prepare` has started."""

    @abstractmethod
    def case(self, case: Case) -> None:
        """One case, which notes its problems."""
