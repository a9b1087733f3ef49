"""The tasks by name. A new one is a file in this folder and a line here."""

from unspool.tasks.answer import Answer, Answers
from unspool.tasks.classify import Classify
from unspool.tasks.elmo import ElmoTask
from unspool.tasks.generate import Generate
from unspool.tasks.pretrain import Pretrain
from unspool.tasks.regress import Regress
from unspool.tasks.tag import Tag
from unspool.tasks.task import Batches, Report, Step, Task, build_model
from unspool.tasks.translate import Translate

TASKS: dict[str, type[Task]] = {
    "classify": Classify,
    "regress": Regress,
    "tag": Tag,
    "generate": Generate,
    "translate": Translate,
    "pretrain": Pretrain,
    "elmo": ElmoTask,
}

__all__ = [
    "TASKS",
    "Answer",
    "Answers",
    "Batches",
    "Classify",
    "ElmoTask",
    "Generate",
    "Pretrain",
    "Regress",
    "Report",
    "Step",
    "Tag",
    "Task",
    "Translate",
    "build_model",
]
