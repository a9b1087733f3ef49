"""Requests that are computed together are answered as alone: a few mixes for a quarter of all
cases. `python tests/conformance/serve_mixes.py` checks 10,000 over all."""

from __future__ import annotations

import pytest
from every_model import CASES
from serve_mixes import check_mixes


@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_a_batch_of_requests_is_each_alone(case, tmp_path) -> None:
    check_mixes(case, tmp_path, 4, seed=2)
