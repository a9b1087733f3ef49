"""Music on the page: what the model goes on with, heard while the roll scrolls over the gates."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from asking import asked
from expecting import eventually, expect
from page_runs import settle

from unspool.data.read.music import Midi, as_piece
from unspool.errors import UserError
from unspool.page.views import views_of
from unspool.tasks.compose.answer import Composing


def test_what_is_played(server_of) -> None:
    """The same as `generate` writes, and the gates at each step."""
    server = server_of("chorale")
    subject = server.subject
    assert views_of(subject)[0] == "playing"
    found = asked(server, "continuation", text=1, given=6, length=10, seed=3, layer=2)
    begun = subject.item("1")[:6]
    (answer,) = subject.task.predict(subject.trained, [begun], Composing(length=10, seed=3))
    assert found["notes"] == answer.piece.notes.tolist()
    assert (found["given"], found["steps"], found["layer"]) == (6, 16, 2)
    assert found["layers"] == ["layer 1", "layer 2"]
    again = as_piece(Midi(None, "x", base64.b64decode(found["midi"])), "x")
    np.testing.assert_array_equal(again.notes, answer.piece.notes)
    kinds = [own["kind"] for own in found["gates"]]
    assert {"forget gate", "input gate", "output gate", "hidden state"} <= set(kinds)
    assert {np.shape(own["values"]) for own in found["gates"]} == {(16, 16)}


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("chorale", {"text": "1", "length": "0"}, "length is a whole number from 1 to 1024"),
        ("chorale", {"text": "1", "temperature": "x"}, "temperature is a number"),
        ("chorale", {"text": "[[500]]"}, "is not music"),
        ("letters", {"text": "1"}, "the model continues no music"),
    ],
)
def test_what_cannot_be_played(server_of, name, given, message) -> None:
    with pytest.raises(UserError, match=message):
        asked(server_of(name), "continuation", **given)


def test_playing_on_the_page(look, shot, browser) -> None:
    page = look("chorale", view="playing", given=8, length=90)
    names = page.eval_on_selector_all(".track", "all => all.map((own) => own.dataset.track)")
    assert names[0] == "piano roll"
    assert "forget gate" in names
    expect(page.locator(".readout").first).to_contain_text("step 1")
    expect(page.locator(".zoom output")).to_have_text("steps 1 to 64 of 98")
    expect(page.locator("tbody tr").first).to_contain_text("notes in key")
    page.fill("#tempo", "400")
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Pause")
    step = page.locator(".surface [role=slider]")
    eventually(lambda: int(step.get_attribute("aria-valuenow")) > 40, seconds=60)
    eventually(lambda: "steps 1 to" not in page.locator(".zoom output").inner_text(), seconds=60)
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Play")
    with page.expect_download() as waited:
        page.click("#midi")
    assert len(as_piece(Midi(waited.value.path(), "x"), "x")) == 98
    shot(page, "playing-chorale")
    page.click("#another")
    settle(page)
    assert page.input_value("#seed") == "2"
    content = as_piece([[60, 64], [62, 65]] * 6, "x").midi()
    page.set_input_files("#file", {"name": "mine.mid", "mimeType": "audio/midi", "buffer": content})
    settle(page)
    expect(page.locator("#text option:checked")).to_have_text("mine.mid")
    page.hover(".surface [role=slider]", position={"x": 60, "y": 40})
    expect(page.locator(".readout").first).to_contain_text("C4 E4")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light"), (390, "dark")])
def test_it_fits(new_page, look, shot, width, scheme) -> None:
    page = look("chorale", on=new_page(width=width, scheme=scheme), view="playing", length=24)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    shot(page, f"playing-chorale-{width}-{scheme}")
