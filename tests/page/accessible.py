"""Whether everybody can use a page, as far as a program can tell: axe-core's rules, its width."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import pytest

# Rules of WCAG 2 to level AA, and what axe-core calls best practices.
OPTIONS = "{ resultTypes: ['violations'] }"


@cache
def axe() -> str:
    pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any) -> list[str]:
    """The rules that a page breaks, each with the first elements that do."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())
    found = page.evaluate(f"async () => (await axe.run({OPTIONS})).violations")
    return [f"{rule['id']}: {node['html'][:160]}: {node.get('failureSummary', '')}"
            for rule in found for node in rule["nodes"][:3]]  # fmt: skip


def is_too_wide(page: Any) -> bool:
    """Whether the page can be scrolled sideways."""
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
