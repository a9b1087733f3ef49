"""The page of topics, opened as a file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from accessible import is_too_wide

import unspool

KINDS = ("goal team match player score season", "bank market price shares profit trade")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_topics_can_be_read(new_page, tmp_path: Path, width: int, scheme: str) -> None:
    rng = random.Random(2)
    texts = [" ".join(rng.choices(KINDS[i % 2].split(), k=14)) for i in range(60)]
    found = unspool.topics(texts, count=2, out=tmp_path / "topics", quiet=True)
    page = new_page(width=width, scheme=scheme)
    page.goto((found.path / "topics.html").as_uri())
    assert not is_too_wide(page)
    number = page.locator("figure svg a text").first.bounding_box()
    assert number["height"] > 8  # pixels
    for cell in page.locator("td.text").all():
        box = cell.bounding_box()
        if page.locator("section:has(h3)", has=cell).count():
            assert box["x"] + box["width"] <= width
