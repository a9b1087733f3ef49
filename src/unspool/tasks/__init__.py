"""The tasks by name. A new one is a file in this folder and a line here."""

from unspool.tasks.classify import Classify
from unspool.tasks.generate import Generate
from unspool.tasks.pretrain import Pretrain
from unspool.tasks.task import Batches, Report, Step, Task
from unspool.tasks.translate import Translate

TASKS: dict[str, type[Task]] = {
    "classify": Classify,
    "generate": Generate,
    "translate": Translate,
    "pretrain": Pretrain,
}

__all__ = [
    "TASKS",
    "Batches",
    "Classify",
    "Generate",
    "Pretrain",
    "Report",
    "Step",
    "Task",
    "Translate",
]
