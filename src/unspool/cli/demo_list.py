"""What `unspool demo --list` prints: the demos, and the ideas of the course with their commands."""

from __future__ import annotations

from typing import Any

from unspool.demos import DEMOS
from unspool.demos.course import course, course_lines


class DemoList:
    def to_json(self) -> dict[str, Any]:
        return {
            "demos": {name: demo.about for name, demo in DEMOS.items()},
            "course": [idea._asdict() for idea in course()],
        }

    def lines(self) -> list[str]:
        demos = [f"{name:<10} {demo.about}" for name, demo in DEMOS.items()]
        about = (
            "The course, idea by idea (docs/course.md); `unspool demo --data data` writes the data:"
        )
        return [*demos, "", about, "", *course_lines()]
