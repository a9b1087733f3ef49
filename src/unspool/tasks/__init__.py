"""The tasks by name. A new one is a file in this folder and a line here."""

from unspool.tasks.classify import Classify
from unspool.tasks.generate import Generate
from unspool.tasks.task import Batches, Report, Step, Task

TASKS: dict[str, type[Task]] = {
    "classify": Classify,
    "generate": Generate,
}

__all__ = ["TASKS", "Batches", "Classify", "Generate", "Report", "Step", "Task"]
