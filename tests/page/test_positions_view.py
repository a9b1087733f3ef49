"""The positions view: its numbers against the model's own, by mouse and by keyboard."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from expecting import expect
from page_runs import settle

from insight_models import make
from unspool.api.run import load
from unspool.nn.positions import Learned, Sinusoidal
from unspool.page.answers import answer
from unspool.page.subject import Subject
from unspool.tasks.examples import Example


@pytest.fixture
def subject(tmp_path):
    def subject(name: str) -> Subject:
        task, model = make(name)
        return Subject(task, model, tmp_path, tmp_path / "metrics.jsonl", [Example("a")])

    return subject


def values(found: dict) -> np.ndarray:
    return np.array(found["values"])


def test_sinusoidal_and_none(subject) -> None:
    found = answer(subject("translate-transformer"), "positions", {"length": "10"})
    expected = Sinusoidal(8).encoding(10, like=torch.zeros(1)).numpy()
    assert (found["kind"], found["limit"]) == ("sinusoidal", None)
    np.testing.assert_allclose(values(found), expected, atol=1e-4)
    found = answer(subject("classify-lstm"), "positions", {})
    assert found["kind"] == "none"
    assert values(found).shape == (64, 64)


def test_learned(subject) -> None:
    given = subject("classify-cls")
    found = answer(given, "positions", {"length": "256"})
    own = next(m for m in given.trained.modules() if isinstance(m, Learned))
    assert (found["kind"], found["limit"]) == ("learned", own.length)
    np.testing.assert_allclose(values(found), own.P.detach().numpy()[:256], atol=1e-4)


def test_rotary(subject) -> None:
    """Products depend on the distance alone."""
    found = answer(subject("generate-rotary"), "positions", {"length": "16"})
    assert found["kind"] == "rotary"
    products = values(found) @ values(found).T
    np.testing.assert_allclose(products[0, :8], products[5, 5:13], atol=1e-3)


def test_by_keyboard(look, run_of, shot) -> None:
    run = load(run_of("writer"))
    matrix = np.array(answer(run.subject(), "positions", {"length": "16"})["values"])
    page = look("writer", view="positions", length="16", position="3")
    expect(page.get_by_role("heading", name="The vector of position 3")).to_have_count(1)
    page.focus("#position")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="The vector of position 4")).to_have_count(1)
    assert "position=4" in page.evaluate("location.hash")
    products = matrix @ matrix[4]
    note = page.locator("figure .note").last.inner_text()
    assert note.startswith(f"With itself {products[4]:.2f}; ")
    others = np.delete(products, 4)
    assert f", {others.max():.2f}; least".replace("-", "−") in note
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    found = page.locator(".readout").nth(2).inner_text()
    assert found.startswith("element 1: position 4 ")
    shown = float(found.split()[-1].replace("−", "-"))
    assert shown == pytest.approx(matrix[4, 1], rel=1e-3)
    shot(page, "positions-learned")


def test_the_heatmap(look, run_of) -> None:
    run = load(run_of("writer"))
    matrix = np.array(answer(run.subject(), "positions", {"length": "16"})["values"])
    page = look("writer", view="positions", length="16")
    heatmap = page.get_by_role("slider", name="16 positions by 16 elements")
    heatmap.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expected = f"position 2, element 1: {matrix[2, 1]:.2f}".replace("-", "−")
    assert heatmap.get_attribute("aria-valuetext") == expected
    heatmap.scroll_into_view_if_needed()
    box = heatmap.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 15.5 / 16, box["y"] + box["height"] * 7.5 / 16)
    assert page.locator(".readout").first.inner_text().startswith("position 7, element 15: ")


def test_another_length(look) -> None:
    page = look("bilstm", view="positions")
    page.focus("#length")
    page.select_option("#length", "32")
    settle(page)
    assert page.get_attribute("#position", "max") == "31"
    assert page.evaluate("document.activeElement.id") == "length"
    assert "no positions" in page.locator(".view .note").first.inner_text()
