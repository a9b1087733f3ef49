"""The view `gradients`: driven by mouse and keyboard, its numbers against Python's."""

from __future__ import annotations

import re

import pytest
from expecting import expect
from page_runs import TEXTS, settle

from unspool.api.run import load
from unspool.insight.learnt import flow_of_run, state_gradients

RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def number(text: str) -> float:
    """`1.2·10⁻⁵` and `0.30` as numbers."""
    head, _, exponent = text.partition("·10")
    return float(head) * 10 ** int(exponent.translate(RAISED) or 0)


def table(page, nth: int) -> list[list[str]]:
    """The cells of one of the two tables of numbers."""
    details = page.locator(".view details").nth(nth)
    details.locator("summary").click()
    details.locator("table").wait_for()
    rows = details.locator("tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def test_the_flows_are_pythons(look, run_of, shot) -> None:
    page = look("bilstm", view="gradients", steps=20, at=7)
    run = load(run_of("bilstm"))
    flows = flow_of_run(run.task, run.model, distance=20).flows
    figures = page.locator("figure[data-cell]")
    assert [f.get_attribute("data-cell") for f in figures.all()] == [flow.name for flow in flows]
    for figure, flow in zip(figures.all(), flows):
        assert flow.verdict in figure.locator("figcaption").inner_text()
        shown = figure.locator(".pointed").inner_text()
        assert number(shown.rpartition(" ")[2]) == pytest.approx(flow.norms[7], rel=0.06)
    for row, flow in zip(table(page, 0), flows):
        assert row[0] == flow.name
        assert number(row[-1]) == pytest.approx(flow.norms[20], rel=0.06)
    shot(page, "gradients-bilstm")


def test_the_dependence_on_states_is_pythons(look, run_of) -> None:
    page = look("tagger", view="gradients", steps=20, step=2)
    run = load(run_of("tagger"))
    reading = run.subject().read(TEXTS["tagger"])
    answer = reading.answer.chosen(reading.run()[0])[2]
    assert page.locator(".view .note strong").inner_text() == reading.answer.name(answer)
    found = state_gradients(reading, run.model, 2, answer)
    rows = table(page, 1)
    assert [row[0] for row in rows] == reading.input.tokens
    for column, state in enumerate(found, 1):
        shown = [number(row[column]) for row in rows]
        assert shown == pytest.approx(state.norms, rel=0.06, abs=1e-12)
    page.locator("#step").select_option("0")
    settle(page)
    assert "step=0" in page.url
    assert page.locator("#step").input_value() == "0"


def test_cells_are_chosen_and_pointed_at(look, shot) -> None:
    page = look("bilstm", view="gradients", steps=20)
    figures = page.locator("figure[data-cell]")
    count = figures.count()
    page.get_by_role("checkbox", name="gru, fresh").uncheck()
    expect(figures).to_have_count(count - 1)
    assert "hidden=gru-fresh" in page.url
    page.locator("#at").focus()
    page.keyboard.press("End")
    assert re.search(r"\bat=20\b", page.url)
    assert figures.first.locator(".pointed").inner_text().startswith("20 steps before the output")
    chart = figures.first.locator("svg")
    chart.click(position={"x": chart.bounding_box()["width"] * 0.15, "y": 40})
    assert not figures.first.locator(".pointed").inner_text().startswith("20")
    page.locator("#draw").select_option("lines")
    expect(figures).to_have_count(0)
    names = page.locator(".line-name").all_text_contents()
    assert len(names) == count - 1
    assert "gru, fresh" not in names
    expect(page.locator(".verdicts li")).to_have_count(count - 1)
    shot(page, "gradients-lines")


def test_they_may_read_the_text(look) -> None:
    page = look("bilstm", view="gradients", steps=20)
    page.locator("#reads").select_option("text")
    settle(page)
    words = len(TEXTS["bilstm"].split())
    assert page.locator("#at").get_attribute("max") == str(words - 1)
    expect(page.locator("#steps")).to_have_count(0)


def test_other_models_have_no_such_view(look) -> None:
    page = look("cnn")
    expect(page.locator("#tab-gradients")).to_have_count(0)
    expect(page.locator("#tab-unrolled")).to_have_count(0)


def test_a_distance_that_is_none_is_one_line(look, allowed) -> None:
    allowed.append("400")
    page = look("bilstm", view="gradients", steps="far")
    assert "distance is a whole number from 1 to 1000" in page.locator(".error").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(look, new_page, shot, scheme) -> None:
    page = look("bilstm", on=new_page(width=390, scheme=scheme), view="gradients", steps=20)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shot(page, f"gradients-phone-{scheme}")
