"""What stands under the input in every view: the answer, the truth, unknown words."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from asking import asked
from expecting import eventually, expect
from page_runs import TEXTS, settle

from insight_models import MODELS, make
from unspool.page.saved import saved_page
from unspool.page.subject import open_subject

ANSWERING = ["bilstm", "tagger", "bahdanau", "writer", "labels", "rater", "transformer"]


def line(page) -> str:
    page.wait_for_selector(".answer:not([hidden]):not(:has-text('Reading …'))")
    return page.locator(".answer").inner_text()


@pytest.mark.parametrize("name", ANSWERING)
def test_the_answer_is_under_the_input_in_every_view(look, server_of, name) -> None:
    said = asked(server_of(name), "answer", text=TEXTS[name])
    page = look(name)
    for view in asked(server_of(name), "run")["views"]:
        page = look(name, view=view)
        assert line(page).startswith(
            f"Answer: {said['answer'].replace(' ', '␣', said['answer'] == ' ')}"
        )
        below = page.locator(".answer").bounding_box()
        assert below["y"] + below["height"] < 300


def test_what_is_said(server_of) -> None:
    def said(name: str, text: str | None = None):
        return asked(server_of(name), "answer", text=text or TEXTS[name])

    why = asked(server_of("bilstm"), "saliency", text=TEXTS["bilstm"])
    assert said("bilstm")["answer"] == why["answer"]
    assert said("bilstm")["note"] == f"probability {why['answer_value']:.4f}"
    assert said("tagger")["answer"] == "[PER Anna Kunz] met [LOC Bern] today ."
    traced = asked(server_of("bahdanau"), "trace", text=TEXTS["bahdanau"])
    assert said("bahdanau")["answer"] == traced["candidates"][0]["translation"]
    last = asked(server_of("writer"), "trace", text=TEXTS["writer"])["choices"][-1]
    assert said("writer")["answer"] == last["answer"]
    assert said("writer")["note"].endswith(f"{last['answer_value']:.4f}")
    assert set(said("labels")["answer"].split(", ")) == {"drama", "war"}
    assert said("rater")["answer"].startswith("rating ")


@pytest.mark.parametrize("name", [name for name in MODELS if name != "elmo"])
def test_every_model_says_something(name) -> None:
    task, model = make(name)
    text = "a b <mask> d" if name.startswith("pretrain") else "a b c d"
    reading = task.reading(model, text)
    with torch.no_grad():
        said = reading.answer.summary(reading.run()[0])
    assert said.answer or said.note
    assert "\n" not in said.answer


def test_an_example_of_the_run_has_its_truth(look, run_of, server_of) -> None:
    example = open_subject(run_of("bilstm")).examples[0]
    page = look("bilstm", text=example.text)
    assert line(page).endswith(f". The data say {example.truth}")
    assert "The data say" not in line(look("bilstm", text="a film"))
    page.goto(server_of("bilstm").address())
    settle(page)
    assert page.locator("#text").input_value() == example.text


def test_a_word_that_is_not_in_the_vocabulary_is_shown_and_named(look) -> None:
    for view in ("unrolled", "saliency", "gradients"):
        page = look("bilstm", view=view, text="a zebra film")
        page.wait_for_selector(".view:has-text('‹zebra›')")
        assert "<unk>" not in page.locator(".view").inner_text()
        assert line(page).endswith("so that the model reads <unk>: ‹zebra›")


def test_a_text_that_cannot_be_read_has_no_answer(look, allowed) -> None:
    allowed.append("400")
    page = look("bilstm", view="unrolled", text=" ")
    eventually(lambda: page.locator(".answer").is_hidden())


def test_a_saved_page_has_it_too(run_of, page, tmp_path) -> None:
    saved = tmp_path / "page.html"
    saved.write_text(saved_page(open_subject(run_of("bilstm")), "a lovely film", "training"))
    page.goto(saved.as_uri())
    settle(page)
    assert line(page).startswith("Answer: pos, probability ")


def test_a_view_that_takes_a_while_says_so(look, server_of, page) -> None:
    held: list[Any] = []  # requests that get no answer yet
    look("bilstm", view="training")
    page.route("**/api/gradients*", lambda route: held.append(route))
    page.locator("#tab-gradients").click()
    page.wait_for_selector(".working:has-text('Following gradients back in time …')")
    assert page.locator(".view.training").is_hidden()  # which this view is not
    for route in held:
        route.continue_()
    settle(page)
    expect(page.locator(".working")).to_have_text("")
    assert page.locator(".view.gradients").is_visible()
