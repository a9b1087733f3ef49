"""Strokes on the page: the drawing with its colours; and handwriting, as it is written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from asking import asked
from expecting import eventually, expect
from page_runs import settle

from unspool.errors import UserError
from unspool.page.views import views_of
from unspool.tasks.handwrite.answer import Writing


def tracks(page) -> list[str]:
    return page.eval_on_selector_all(".track", "all => all.map((own) => own.dataset.track)")


def test_what_there_is_to_see(server_of) -> None:
    of = {name: views_of(server_of(name).subject) for name in ("letters", "words", "scribble")}
    assert of["letters"] == ["unrolled", "saliency", "gradients", "training"]
    assert of["words"] == ["writing", "unrolled", "saliency", "training"]
    assert of["scribble"] == ["writing", "unrolled", "saliency", "gradients", "training"]
    for name in of:
        assert asked(server_of(name), "run")["input"]["shown_as"] == "drawing"


def test_a_drawing_is_coloured_by_reasons(look, server_of, shot) -> None:
    page = look("letters", view="saliency")
    page.wait_for_selector('.track[data-track="contribution"]')
    found = asked(server_of("letters"), "input", text=1)
    assert tracks(page)[:2] == ["movements of the pen", "contribution"]
    assert page.locator(".drawing line").count() == 2 * len(found["steps"])
    widths = page.eval_on_selector_all(
        ".drawing line", "all => all.map((own) => Number(own.getAttribute('stroke-width')))"
    )
    why = asked(server_of("letters"), "saliency", text=1)
    strong = int(np.abs(why["values"]).argmax())
    assert widths[len(found["steps"]) + strong] == max(widths[len(found["steps"]) :])
    page.locator(".drawing svg").click(position={"x": 15, "y": 15})
    assert "at=" in page.evaluate("location.hash")
    shot(page, "saliency-letters")


def test_gates_over_points(look) -> None:
    page = look("letters", view="unrolled")
    assert tracks(page)[0] == "movements of the pen"
    assert "hidden state" in tracks(page)
    expect(page.locator(".drawing .note")).to_contain_text("hidden state of unit")


def test_a_drawing_of_ones_own(look, allowed) -> None:
    page = look("letters", view="saliency")
    page.get_by_text("Draw one").click()
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("alert").first).to_contain_text("there is no drawing yet")
    box = page.locator(".pad").bounding_box()
    for x in (40, 120):
        page.mouse.move(box["x"] + x, box["y"] + 30)
        page.mouse.down()
        page.mouse.move(box["x"] + x + 5, box["y"] + 150, steps=8)
        page.mouse.up()
    page.get_by_role("button", name="Look").click()
    settle(page)
    given = json.loads(page.input_value("#text"))
    ups = [row[2] for row in given["values"]]
    assert sum(ups) == 2
    assert ups[-1] == 1
    assert sum(row[1] for row in given["values"]) == pytest.approx(120, abs=2)
    expect(page.locator("#text option:checked")).to_have_text(f"drawn, {len(ups)} points")
    expect(page.locator(".answer")).to_contain_text("Answer:")


def test_drawings_that_are_none(server_of) -> None:
    with pytest.raises(UserError, match="pen up is 0 or 1"):
        asked(server_of("letters"), "input", text=json.dumps([[0, 0, 0], [1, 1, 7]]))


def test_what_is_written(server_of) -> None:
    """The same as `generate` draws."""
    server = server_of("words")
    subject = server.subject
    found = asked(server, "write", words="till", seed=3, length=40)
    (answer,) = subject.task.predict(
        subject.trained, [[]], Writing(text="till", seed=3, length=40, bias=1.0)
    )
    assert found["svg"] == "\n".join(answer.svg())
    assert found["characters"] == [*"till", "end"]
    assert np.shape(found["weights"]) == (5, len(found["x"]))
    assert found["up"][-1] == 1
    np.testing.assert_allclose(found["x"], np.cumsum(answer.strokes.values[:, 0]), atol=1e-2)
    free = asked(server_of("scribble"), "write", length=15)
    assert free["weights"] == []
    assert free["text"] == ""


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("words", {"words": " "}, "there is no text to write"),
        ("words", {"words": "xyz"}, "characters that the model has never seen written; got 'xyz'"),
        ("words", {"words": "lit", "bias": "much"}, "bias is a number; got 'much'"),
        ("words", {"words": "lit", "bias": "99"}, "bias must lie between 0 and 20; got 99"),
        ("words", {"words": "lit", "length": "9999"}, "length is a whole number from 1 to 1500"),
        ("scribble", {"words": "lit"}, "trained without texts, so it cannot write a given one"),
        ("letters", {}, "the model writes nothing by hand"),
    ],
)
def test_what_cannot_be_written(server_of, name, given, message) -> None:
    with pytest.raises(UserError, match=message):
        asked(server_of(name), "write", **given)


def test_writing_on_the_page(look, shot) -> None:
    page = look("words", view="writing")
    assert page.locator("form.series-input").is_hidden()
    page.fill("#words", "till")
    page.fill("#seed", "3")
    page.click("#write")
    settle(page)
    assert "words=till" in page.evaluate("location.hash")
    points = int(page.locator("#player").get_attribute("max")) + 1
    expect(page.locator(".detail")).to_contain_text(f"{points} of {points} points")
    assert tracks(page) == ["window over the text"]
    whole = page.get_attribute(".ink", "d")
    page.fill("#player", "2")
    expect(page.locator(".detail")).to_contain_text(f"3 of {points} points")
    assert len(page.get_attribute(".ink", "d")) < len(whole)
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Play", timeout=60_000)
    assert page.get_attribute(".ink", "d") == whole
    with page.expect_download() as waited:
        page.click("#svg")
    assert waited.value.suggested_filename == "till.svg"
    assert "<title>till</title>" in waited.value.path().read_text()
    shot(page, "writing-words")
    page.click("#another")
    settle(page)
    assert page.input_value("#seed") == "4"


def test_writing_that_is_refused_on_the_page(look, allowed) -> None:
    allowed.append("400")
    page = look("words", view="writing", words="xyz")
    expect(page.get_by_role("alert").last).to_contain_text("never seen written")
    assert page.input_value("#words") == "xyz"
    page.fill("#words", "lit")
    page.keyboard.press("Enter")
    settle(page)
    expect(page.locator(".detail")).to_contain_text("points, the pen lifted")


def test_it_is_watched_as_it_writes(browser, server_of) -> None:
    """Where motion is welcome, it begins by itself, point by point."""
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.goto(server_of("words").address(view="writing"))
    settle(page)
    first = page.locator("#player").input_value()
    eventually(lambda: int(page.locator("#player").input_value()) > int(first), seconds=60)
    context.close()


def test_free_drawings(look) -> None:
    page = look("scribble", view="writing")
    assert page.locator("#words").count() == 0
    assert tracks(page) == []
    assert page.get_attribute(".ink", "d").startswith("M")
    page.click("#tab-saliency")
    settle(page)
    expect(page.locator(".answer")).to_contain_text("nats a point")
    expect(page.locator(".choice").first).to_contain_text("After the point that follows point")


def test_a_model_that_is_fitted_at_once(look, server_of) -> None:
    """It has no steps to look at, and what was tried is a table."""
    assert views_of(server_of("fitted").subject) == ["training"]
    page = look("fitted")
    assert page.locator("[role=tab]").all_inner_texts() == ["Training"]
    expect(page.get_by_role("status")).to_contain_text("Fitted at once, not by steps")
    assert "strength" in page.locator("thead").inner_text()
    assert page.locator(".answer").is_hidden()
    assert page.locator("form").is_hidden()
