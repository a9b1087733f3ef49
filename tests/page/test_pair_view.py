"""Pages of models that read two texts: pairs that are classified, and questions with a context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accessible import is_too_wide, violations
from asking import asked
from expecting import expect
from page_runs import TEXTS, settle

from unspool.api.run import load
from unspool.page.answers import answer

TOKENS = ["a", "man", "sleeps", "in", "the", "house", "<sep>", "the", "dog", "sleeps"]
START = 7  # of the second text


def layers(server: Any, name: str) -> list[dict[str, Any]]:
    text = TEXTS[name]
    keys = asked(server, "steps", text=text)["layers"]
    return [asked(server, "steps", text=text, **key) for key in keys]


@pytest.mark.parametrize("name", ["pairs", "spans"])
def test_each_text_begins_with_no_state(server_of, name: str) -> None:
    """Two texts with attention between them are each read by itself, in either direction: before
    the first step of each is zero, before another the state of the step before."""
    for found in layers(server_of(name), name):
        assert found["tokens"][found["starts"][1] - 1] == "<sep>"
        after = next(np.array(a["values"]) for a in found["arrays"] if a["kind"] == "hidden_state")
        before = np.array(found["before"]["h"])
        order = -1 if found["backwards"] else 1
        stops = [*found["starts"][1:], found["steps"]]
        for start, stop in zip(found["starts"], stops):
            own, states = before[start:stop][::order], after[start:stop][::order]
            assert not own[0].any()
            np.testing.assert_allclose(own[1:], states[:-1], atol=1e-5)


def test_the_chain_is_broken_between_the_texts(look, shot) -> None:
    page = look("pairs", view="unrolled", layer=1, direction="backwards", part="encoder")
    numbers = page.locator(".chain svg text").all_text_contents()
    assert numbers == [*"7654321", *"321"]
    expect(page.locator(".chain polygon.tip")).to_have_count(len(TOKENS) - 2)
    expect(page.locator(".view p.note").first).to_contain_text(
        "Each text is read by itself: the second begins at column 8, from a state of zeros."
    )
    page.locator("#player").fill("9")
    expect(page.locator(".walk h2")).to_contain_text("step 1: “sleeps”")
    shot(page, "unrolled-pair")


def test_gradients_through_the_first_text(look, server_of) -> None:
    page = look("pairs", view="gradients", reads="text")
    expect(page.locator("#reads option:checked")).to_have_text("the first text")
    flows = asked(server_of("pairs"), "gradients", text=TEXTS["pairs"])["flows"]
    assert {len(flow["norms"]) for flow in flows} == {START}


def test_the_form_says_what_is_read(look) -> None:
    label = 'label[for="text"]'
    for name, says in {
        "pairs": "one text ||| another",
        "spans": "question ||| context",
        "reduction": "story ||| question",
    }.items():
        page = look(name, view="training")
        expect(page.locator(label)).to_have_text(f"For the model to read: {says}")
    page = look("bilstm", view="training")
    expect(page.locator(label)).to_have_text("Text for the model to read")


@pytest.mark.parametrize(("width", "beside"), [(1400, True), (390, False)])
def test_lines_and_matrix_side_by_side(look, new_page, width: int, beside: bool) -> None:
    page = look("pairs", view="attention", on=new_page(width=width))
    boxes = [
        page.locator(f"section:has(> #attention-{n})").bounding_box() for n in ("lines", "matrix")
    ]
    assert (boxes[0]["y"] == boxes[1]["y"]) is beside
    legend = page.locator(".pictures .legend").bounding_box()
    assert legend["y"] >= boxes[1]["y"] + boxes[1]["height"]
    assert legend["x"] == boxes[0]["x"]
    assert not is_too_wide(page)


def test_words_of_a_context_are_named(server_of, monkeypatch) -> None:
    """Those outside of the vocabulary too; the answer is as the context spells it."""
    server, text = server_of("spans"), TEXTS["spans"]
    assert asked(server, "trace", text=text)["tokens"][9] == "‹zug›"
    run = load(server.subject.path)
    for task in (server.subject.task, run.task):
        monkeypatch.setattr(task, "threshold", -1000.0)  # always some answer
    said = answer(server.subject, "answer", {"text": text})  # not as the server remembers it
    assert said["unknown"] == ["‹zug›"]
    assert said["answer"] == run.predict(text)[0].answer


def test_tokens_that_occur_twice_are_different_answers(server_of) -> None:
    server, text = server_of("spans"), "Where does Anna live? ||| Anna lives in Ulm in Bern."
    for n in (9, 11):
        found = asked(server, "saliency", text=text, answer=f"in (token {n})")
        assert found["answer"] == f"in (token {n})"
    values = [
        asked(server, "saliency", text=text, answer=f"in (token {n})")["end"] for n in (9, 11)
    ]
    assert values[0] != values[1]


def test_start_and_end_of_an_answer_beside_every_word(look, server_of, shot) -> None:
    page = look("spans", view="attention")
    says = page.locator(".reader .choice p")
    for row in (0, 5):
        page.locator("#player").fill(str(row))
        assert [s.rpartition(" is ")[0] for s in says.all_inner_texts()] == [
            "The start of the answer", "The end of the answer"
        ]  # fmt: skip
    assert violations(page) == []
    page = look("spans", view="unrolled", step=4)
    expect(page.locator(".answers .choice")).to_have_count(2)
    shot(page, "unrolled-spans")


def test_reasons_without_deletions_have_no_columns_for_them(look) -> None:
    """The answers of a context are its tokens, none of which can be left out."""
    page = look("spans", view="saliency")
    heads = page.locator("table.contributions thead th")
    expect(heads).to_have_text(["token", "for it"])
    page = look("pairs", view="saliency")
    expect(heads).to_have_text(["token", "for it", "without it", "most probable then"])


def test_small_contributions_have_digits(look, server_of) -> None:
    page = look("pairs", view="saliency")
    page.locator("table.contributions").wait_for()
    found = asked(server_of("pairs"), "saliency", text=TEXTS["pairs"])["values"]
    assert max(map(abs, found)) < 0.1  # of two epochs
    notes = [word.get_attribute("data-note") for word in page.locator(".words .word").all()]
    shown = [float(note.replace("−", "-")) for note in notes[: len(found)]]
    np.testing.assert_allclose(shown, found, atol=5.1e-5)


@pytest.mark.parametrize("name", ["pairs", "spans", "reduction", "memory", "lists"])
def test_saved(run_of, page, tmp_path: Path, name: str) -> None:
    """Every view of a page that is a file, without a server."""
    path = tmp_path / "seen.html"
    load(run_of(name)).look(TEXTS[name]).save(path)
    page.goto(path.as_uri())
    settle(page)
    assert page.input_value("#text") == TEXTS[name]
    for tab in page.get_by_role("tab").all():
        tab.click()
        settle(page)
        assert page.get_by_role("alert").all_inner_texts() == []
