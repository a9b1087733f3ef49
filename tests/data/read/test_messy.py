"""Every file as people have it is read rightly, or refused with a line that names the remedy."""

from __future__ import annotations

import re

import pytest
from exports import EXPORTS
from messy import CASES, Messy

from unspool.config import DataConfig
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

EXTRAS = {".parquet": "pyarrow", ".arrow": "pyarrow", ".feather": "pyarrow", ".xlsx": "openpyxl"}
EXTRAS |= {"excel.csv": "openpyxl", "parquet.txt": "pyarrow", "arrow.txt": "pyarrow"}


def test_there_are_many() -> None:
    assert len({case.name for case in (*CASES, *EXPORTS)}) == len(CASES) + len(EXPORTS) > 120


@pytest.mark.parametrize("case", [*CASES, *EXPORTS], ids=lambda case: case.name)
def test_file(case: Messy, tmp_path) -> None:
    path = tmp_path / case.name
    if package := EXTRAS.get(path.suffix) or EXTRAS.get(path.name):
        pytest.importorskip(package)
    case.write(path)
    data = DataConfig(**case.settings)
    if case.task is None:
        with pytest.raises(DataError, match=case.says) as caught:
            list(open_plan(path, data, case.asked).rows())
        assert "\n" not in str(caught.value)
        assert str(tmp_path) in str(caught.value)
        return
    plan = open_plan(path, data, case.asked)
    rows = list(plan.rows())
    assert (plan.task, [row.values for row in rows[: len(case.rows)]]) == (case.task, case.rows)
    assert len(rows) == case.count
    assert re.search(case.says, plan.summary), plan.summary
