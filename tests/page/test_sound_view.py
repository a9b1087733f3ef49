"""Sound on the page: spectrum and player, what a transcriber writes where, a file of one's own."""

from __future__ import annotations

import base64
import io
import json
import re
import wave
from pathlib import Path

import numpy as np
import pytest
from asking import asked
from expecting import eventually, expect
from page_runs import settle

from tones import RATE, tones, wav
from unspool import load
from unspool.errors import UserError
from unspool.page.views import views_of


def tracks(page) -> list[str]:
    return page.eval_on_selector_all(".track", "all => all.map((own) => own.dataset.track)")


def test_what_there_is_to_see(server_of) -> None:
    of = {name: views_of(server_of(name).subject) for name in ("spoken", "tones")}
    assert of["spoken"] == ["transcript", "unrolled", "saliency", "gradients", "training"]
    assert of["tones"] == ["unrolled", "saliency", "gradients", "training"]
    about = asked(server_of("spoken"), "run")["input"]
    assert about["shown_as"] == "spectrum"
    assert about["plays"] is True
    assert all(re.fullmatch(r"\d+\.wav, [abc]+, \d\.\d\d s", name) for name in about["examples"])


def test_the_sound_is_that_of_the_file(server_of, spoken_tones) -> None:
    """What is kept in the run folder is heard, and is the file sample for sample."""
    server = server_of("spoken")
    kept = json.loads(server.subject.examples[0].text)
    heard = base64.b64decode(asked(server, "sound", text=1)["wav"])
    with wave.open(io.BytesIO(heard)) as file, wave.open(str(spoken_tones / kept["name"])) as own:
        assert file.getparams() == own.getparams()
        assert file.readframes(10**6) == own.readframes(10**6)


def test_a_transcript_with_its_lattice(server_of) -> None:
    """As `predict` answers; probabilities at least the floor; places in the frames of the input."""
    server = server_of("spoken")
    found, seen = asked(server, "transcript", text=1), asked(server, "input", text=1)
    subject = server.subject
    (answer,) = subject.task.predict(
        subject.trained, [subject.item("1")], subject.task.options(nbest=5)
    )
    assert found["text"] == answer.text
    assert found["confidence"] == pytest.approx(answer.confidence, abs=1e-6)
    assert [own["text"] for own in found["candidates"]] == [own.text for own in answer.candidates]
    assert found["rows"][-1] == "∅"
    steps = len(found["spans"])
    assert found["spans"][-1][1] == len(seen["steps"]) == seen["read"]
    assert all(len(row) == steps for row in found["values"])
    assert np.max(found["values"]) <= 0
    assert np.min(found["values"]) >= found["floor"] - 1e-4
    assert found["text"] == subject.examples[0].truth
    for own, token in zip(found["tokens"], answer.tokens):
        assert 0 <= own["first"] < own["stop"] <= len(seen["steps"]) + 2
        assert own["start"] == token.start
    said = asked(server, "answer", text=1)
    assert said["answer"] == answer.text
    assert said["truth"] == subject.examples[0].truth


def test_contributions_of_frames_that_are_read_as_one(server_of) -> None:
    server = server_of("spoken")
    why = asked(server, "saliency", text=1)
    patch = server.subject.task.config.model.patch
    assert patch == 3
    assert len(why["values"]) == len(why["spans"])
    assert why["spans"][1] == [patch, 2 * patch]
    names = [own["name"] for own in why["channels"]]
    assert len(names) == len(set(names)) == 16
    parts = np.sum([own["values"] for own in why["channels"]], 0)
    np.testing.assert_allclose(parts, why["values"], atol=1e-6)


def test_the_transcript_on_the_page(look, server_of, shot) -> None:
    page = look("spoken", view="transcript")
    found = asked(server_of("spoken"), "transcript", text=1)
    assert tracks(page) == ["spectrum", "lattice"]
    letters = page.locator(".transcript-line button span").all_inner_texts()
    assert letters == [own["text"] for own in found["tokens"]]
    assert page.locator("tbody tr").count() == len(found["candidates"])
    page.locator(".transcript-line button").last.click()
    last = found["tokens"][-1]
    expect(page.locator(".detail")).to_contain_text(f"“{last['text']}”")
    assert f"at={last['first']}" in page.evaluate("location.hash")
    page.locator(".timeline-slider").focus()
    page.keyboard.press("Home")
    expect(page.locator(".detail")).to_have_text("At 0.00 s nothing is written.")
    shot(page, "transcript")


def test_a_recording_is_played(look) -> None:
    """Its player has the whole of it; a click on the timeline is where it begins next."""
    page = look("spoken", view="transcript")
    eventually(lambda: page.evaluate("document.querySelector('audio').duration > 0.1"))
    seconds = page.evaluate("document.querySelector('audio').duration")
    steps = int(page.get_attribute(".timeline-slider", "aria-valuemax")) + 1
    assert seconds == pytest.approx(steps * 0.01, abs=0.04)
    page.locator(".timeline-slider").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    eventually(lambda: page.evaluate("document.querySelector('audio').currentTime > 0"))
    assert page.evaluate("document.querySelector('audio').currentTime") == pytest.approx(0.01)
    page.select_option("#text", "2")
    settle(page)
    eventually(lambda: page.evaluate("document.querySelector('audio').currentTime") == 0)


def test_a_file_of_ones_own(look, tmp_path: Path) -> None:
    path = tmp_path / "mine.wav"
    path.write_bytes(wav(tones("cab", 5), bits=24))
    page = look("spoken", view="transcript")
    page.set_input_files("#file", path)
    expect(page.locator("#text option:checked")).to_have_text("mine.wav")
    settle(page)
    samples = len(tones("cab", 5))
    eventually(lambda: page.evaluate("document.querySelector('audio').duration > 0.1"))
    assert page.evaluate("document.querySelector('audio').duration") == pytest.approx(
        samples / RATE, abs=0.01
    )
    expect(page.locator(".answer")).to_contain_text("Answer:")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no sound at all", "other.wav: is not a WAV file, though it is named like one"),
        (wav(tones("a"))[:60], "other.wav: is a broken WAV file: it ends after"),
        (wav(np.zeros(4000)), "is silent: every sample is 0"),
    ],
)
def test_a_file_that_is_no_sound(look, allowed, tmp_path: Path, data, message) -> None:
    allowed.append("400")
    path = tmp_path / "other.wav"
    path.write_bytes(data)
    page = look("spoken", view="transcript")
    page.set_input_files("#file", path)
    expect(page.get_by_role("alert").first).to_contain_text(message)


def test_questions_about_sound_that_have_no_answer(server_of) -> None:
    with pytest.raises(UserError, match="the model reads no sound"):
        asked(server_of("moves"), "sound", text=1)
    with pytest.raises(UserError, match="the model transcribes nothing"):
        asked(server_of("tones"), "transcript", text=1)
    with pytest.raises(UserError, match="is not a WAV file in base64"):
        asked(server_of("tones"), "input", text=json.dumps({"wav": "%%"}))


def test_saliency_of_sound(look, shot) -> None:
    page = look("tones", view="saliency")
    page.wait_for_selector('.track[data-track="contribution"]')
    assert tracks(page) == ["spectrum", "contribution", "by band"]
    valued = page.get_attribute(".timeline-slider", "aria-valuetext")
    assert re.match(r"frame 0\.\d\d s · loudest at \d+ Hz · contribution", valued)
    shot(page, "saliency-sound")


def test_sound_from_python(run_of, spoken_tones) -> None:
    """A path, or samples and their rate, are on the page with their sound."""
    run = load(run_of("spoken"))
    for given in (str(spoken_tones / "3.wav"), (tones("ab", 3), RATE)):
        shown = run.look(given)
        kept = json.loads(shown.subject.examples[0].text)
        assert base64.b64decode(kept["wav"]).startswith(b"RIFF")
    html = run.look().html()
    assert "data:audio/wav;base64," in html
    assert '"name": "sound"' in html
