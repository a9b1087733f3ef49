"""Waiting for what a page is about to show."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
expect.set_options(timeout=60_000)  # a busy machine is no failure


def eventually(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it has not come true"
        time.sleep(0.05)
