"""Train a model of every task, alone or as one of the processes of torchrun.

python every_task_together.py FOLDER NAME
torchrun --nproc-per-node 2 every_task_together.py FOLDER NAME
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1] / "conformance"), str(Path(__file__).parents[1])]

from every_model import NEEDED, SMALL, USUAL, Case, write_data

import unspool
from small_tasks import read_by
from unspool.tasks import TASKS
from unspool.tasks.abilities import FitsDirectly

SETTINGS: dict[str, Any] = {
    **SMALL, "max_steps": int(os.environ.get("STEPS", 30)), "epochs": 100, "batch": 5,
    "threads": 1, "log_steps": 1,
    "optimizer": "sgd", "lr": 0.01, "precision": "fp32", "keep": "last", "calibrate": False,
    "baseline": False, "time_masks": 0, "band_masks": 0, "copy": False, "valid_share": 0.1,
    "patience": 0, "eval_steps": 50,
}  # fmt: skip
__all__ = ["CASES", "train", "write_data"]
CASES = [case for case in USUAL if not isinstance(TASKS[case.task], FitsDirectly)]


def train(case: Case, data: str, out: Path, **more: Any) -> None:
    small = read_by(case.config(), {**SETTINGS, **NEEDED.get(case.task, {})})
    wanted = {"task": case.task, "model": case.model, **small, **dict(case.settings), **more}
    unspool.train(data, out=out, quiet=True, **wanted)


if __name__ == "__main__":
    folder, name = Path(sys.argv[1]), sys.argv[2]
    for case, data in json.loads((folder / "data.json").read_text()).items():
        chosen = next(each for each in CASES if str(each) == case)
        train(chosen, data, folder / name / case)
