"""The page of the course, taken apart: its chapters, its ideas and their commands."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "course.md").read_text(encoding="utf-8")
CHAPTERS = dict(part.split("\n", 1) for part in PAGE.split("\n## ")[1:])


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Commands with the lines that are shown below them, which they must print."""
    found: list[tuple[str, list[str]]] = []
    for line in re.findall(r"^    (\S.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M):
        if line.startswith("unspool "):
            found.append((line, []))
        else:
            found[-1][1].append(line)
    return found


def makers() -> dict[str, str]:
    """The command of the page that makes a run, by the folder of the run."""
    found = {}
    for line, _ in commands(PAGE):
        if demo := re.fullmatch(r"unspool demo (reviews|dates|memory)", line):
            found[f"runs/demo-{demo[1]}"] = line
        elif re.match(r"unspool (train|compare|embed) ", line):
            found[line.split("--out ")[1].split()[0]] = line
    return found
