"""Videos on the page: frames, the gates that read them, and where each word of a caption looked."""

from __future__ import annotations

import numpy as np
import pytest
from asking import asked
from expecting import expect
from page_runs import settle

from unspool.insight.trace import trace_reading


def tracks(page) -> list[str]:
    return page.eval_on_selector_all(".track", "all => all.map((own) => own.dataset.track)")


def test_the_gates_are_those_of_the_trace(server_of) -> None:
    """Of each direction by itself, unit by unit."""
    server = server_of("clips")
    subject = server.subject
    trace = trace_reading(subject.read("1"), subject.task, subject.trained)
    for layer, direction in ((1, "forwards"), (2, "backwards")):
        found = asked(server, "picture", text=1, layer=layer)
        assert found["layers"] == ["layer 1, forwards", "layer 1, backwards"]
        (forget,) = (own["values"] for own in found["gates"] if own["kind"] == "forget gate")
        (own,) = (a for a in trace.find("forget_gate") if a.direction == direction)
        np.testing.assert_allclose(forget, own.values[:, found["units"]].T, atol=1e-4)
    assert len(forget[0]) == found["size"][0] == 5


def test_a_layer_that_is_not_there(server_of) -> None:
    """The last one that is."""
    assert asked(server_of("frames"), "picture", text=1, layer=7)["layer"] == 1


def test_frames_and_gates(look, shot) -> None:
    page = look("clips", view="picture")
    names = tracks(page)
    assert "contribution of the frame" in names
    assert {"forget gate", "input gate", "output gate", "hidden state"} <= set(names)
    step = page.locator(".surface [role=slider]")
    step.focus()
    step.press("Home")
    expect(page.locator(".beside + .note")).to_contain_text("Frame 0:")
    step.press("ArrowRight")
    expect(page.locator(".beside + .note")).to_contain_text("Frame 1:")
    shot(page, "picture-clips")
    page.select_option("#layer", "2")
    settle(page)
    expect(page.locator("#layer option:checked")).to_have_text("layer 1, backwards")
    page.select_option("#over", "hidden")
    expect(page.locator(".beside + .note")).to_contain_text("in all frames")


def test_a_label_a_frame(look, shot) -> None:
    page = look("frames", view="picture")
    assert {"update gate", "reset gate", "hidden state"} <= set(tracks(page))
    assert page.locator("#layer").count() == 0
    page.locator("#step").fill("2")
    settle(page)
    expect(page.locator("output[for=step]")).to_have_text("2")
    expect(page.locator("form.input label").first).to_contain_text("Video for the model to read")
    shot(page, "picture-frames")


def test_words_look_at_frames(look, shot) -> None:
    """The weights of the word that the slider is at; the gates are those that read the frames."""
    page = look("told", view="picture")
    assert {"where it looked", "hidden state"} <= set(tracks(page))
    word = page.locator("#step")
    most = int(word.get_attribute("max"))
    word.fill(str(most))
    word.dispatch_event("change")
    settle(page)
    expect(page.locator("output[for=step]")).not_to_have_text("it")
    shot(page, "picture-told")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light"), (390, "dark")])
def test_it_fits(new_page, look, shot, width, scheme) -> None:
    page = look("told", on=new_page(width=width, scheme=scheme), view="picture")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shot(page, f"picture-told-{width}-{scheme}")
