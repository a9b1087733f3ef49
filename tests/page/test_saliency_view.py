"""The view `saliency`, driven by mouse and keyboard; its numbers against Python's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from accessible import violations
from asking import asked
from expecting import eventually, expect
from page_runs import TEXTS

from unspool.insight.saliency import CLOSE


def explained(look: Any, name: str, **params: Any) -> Any:
    """The page, when the reasons have come."""
    page = look(name, view="saliency", **params)
    page.wait_for_selector(".contributions")
    return page


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def page_number(x: float) -> str:
    return f"{x:.4f}".replace("-", "−")


def shown(page: Any) -> list[float]:
    """The numbers below the words, once they are drawn."""
    page.wait_for_selector("button.word[data-note]")
    return [number(word.get_attribute("data-note")) for word in page.locator("button.word").all()]


def test_words_and_table_are_what_python_says(look, server_of, shot) -> None:
    page = explained(look, "bilstm")
    why = asked(server_of("bilstm"), "saliency", text=TEXTS["bilstm"])
    assert shown(page) == pytest.approx(why["values"], abs=0.0051)
    rows = page.locator(".contributions tbody tr").all()
    order = np.argsort(-np.abs(why["values"]), kind="stable")
    without = {each["token"]: each for each in why["deletions"]}
    for row, i in zip(rows, order.tolist()):
        token, value, *rest = row.inner_text().split()
        assert token == why["tokens"][i]
        assert number(value) == pytest.approx(why["values"][i], abs=6e-5)
        assert float(rest[0]) == pytest.approx(without[i]["answer_value"], abs=6e-5)
        assert rest[1] == without[i]["answer"]
        assert ("changes" in rest) == (without[i]["answer"] != why["answer"])
    status = page.locator(".view [role=status]").inner_text()
    start, given, end = map(number, re.findall(r"−?\d+\.\d{4}", status)[:3])
    # As close as contributions have to be, and three rounded numbers.
    assert start + given == pytest.approx(end, abs=CLOSE * max(1, abs(end - start)) + 2e-4)
    assert given == pytest.approx(sum(why["values"]), abs=6e-5)
    assert 1 / (1 + np.exp(-end)) == pytest.approx(why["answer_value"], abs=1e-4)
    assert f"log odds {page_number(end)}, probability {why['answer_value']:.4f} of" in status
    assert violations(page) == []
    shot(page, "saliency-bilstm")


def test_a_number_is_called_a_number(look, server_of) -> None:
    page = explained(look, "rater", token=1)
    why = asked(server_of("rater"), "saliency", text=TEXTS["rater"])
    assert why["measure"] == "number"
    assert f"rating is {why['answer_value']:.4f}" in page.locator(".choice p").inner_text()
    without = {each["token"]: each["answer_value"] for each in why["deletions"]}
    told = page.locator(".detail").inner_text()
    assert f"Without it the number is {without[1]:.4f} instead of {why['answer_value']:.4f}" in told
    assert "probab" not in page.locator(".view").inner_text()
    status = page.locator(".view [role=status]").inner_text()
    start, given, end = map(number, re.findall(r"−?\d+\.\d{4}", status)[:3])
    assert start + given == pytest.approx(end, abs=0.1)  # of numbers from -7 to 40
    assert end == pytest.approx(why["answer_value"], abs=1e-4)


def test_a_word_is_chosen_by_mouse_and_keys(look) -> None:
    page = explained(look, "bilstm", token=0)
    words = TEXTS["bilstm"].split()
    assert page.locator(".detail").inner_text().startswith(f"{words[0]} speaks ")
    page.locator("button.word").nth(5).click()
    assert page.locator(".detail").inner_text().startswith(f"{words[5]} speaks ")
    assert page.locator(".contributions tr.chosen").inner_text().split()[0] == words[5]
    page.keyboard.press("ArrowRight")
    assert page.locator(".contributions tr.chosen").inner_text().split()[0] == words[6]
    assert page.evaluate("document.activeElement.textContent") == words[6]
    assert "token=6" in page.url
    page.locator(".contributions tbody tr").last.click()
    last = page.locator(".contributions tbody tr").last.inner_text().split()[0]
    assert page.locator("button.word[aria-pressed=true]").inner_text() == last


def test_another_answer_and_another_method(look, server_of) -> None:
    page = explained(look, "bilstm")
    likeliest = page.locator("#saliency-answer").input_value()
    other = {"pos": "neg", "neg": "pos"}[likeliest]
    page.select_option("#saliency-answer", other)
    page.wait_for_selector(f".detail:has-text('“{other}”')")
    given = {"text": TEXTS["bilstm"], "answer": other}
    why = asked(server_of("bilstm"), "saliency", **given)
    values = pytest.approx(why["values"], abs=0.0051)
    eventually(lambda: shown(page) == values)
    changes = [each for each in why["deletions"] if each["answer"] != likeliest]
    expect(page.locator(".contributions strong")).to_have_count(len(changes))
    page.select_option("#saliency-method", "gradient")
    page.wait_for_selector("[role=status]:has-text('in one step')")
    why = asked(server_of("bilstm"), "saliency", **given, method="gradient")
    slopes = pytest.approx(why["values"], abs=0.0051)
    eventually(lambda: shown(page) == slopes)
    assert f"answer={other}" in page.url
    assert "method=gradient" in page.url


@pytest.mark.parametrize(
    ("name", "step"),
    [("tagger", 3), ("bahdanau", 1), ("writer", 5), ("transformer", 0), ("cnn", 0)],
)
def test_every_task(look, server_of, name, step, shot) -> None:
    page = explained(look, name, step=step)
    why = asked(server_of(name), "saliency", text=TEXTS[name], step=step)
    assert shown(page) == pytest.approx(why["values"], abs=0.0051)
    assert f"probability {why['answer_value']:.4f}" in page.locator(".choice p").inner_text()
    shot(page, f"saliency-{name}")


def test_another_place(look, server_of) -> None:
    page = explained(look, "tagger")
    page.select_option("#saliency-step", "0")
    page.wait_for_selector(".choice p:has-text('The tag of “Anna”')")
    page.wait_for_selector(".contributions")
    why = asked(server_of("tagger"), "saliency", text=TEXTS["tagger"], step=0)
    assert shown(page) == pytest.approx(why["values"], abs=0.0051)


def test_an_unknown_answer_is_one_line(look, allowed) -> None:
    allowed.append("400")
    page = look("bilstm", view="saliency", answer="nobody")
    says = "the model knows no such answer; got 'nobody'. Choose from neg, pos"
    page.wait_for_selector(f'.view .error:text-is("{says}")')


def test_a_long_text_does_not_freeze_the_page(look, new_page) -> None:
    text = " ".join(["the film was good and the plot was bad"] * 60)
    page = look("cnn", view="saliency", text=text, method="gradient", on=new_page(width=390))
    page.wait_for_selector(".contributions", timeout=30_000)
    expect(page.locator("button.word")).to_have_count(540)
    expect(page.locator(".contributions tbody tr")).to_have_count(60)
    page.get_by_role("button", name="Show all 540 tokens").click()
    expect(page.locator(".contributions tbody tr")).to_have_count(540)


def test_several_labels_and_reasons_for_each(look, server_of, shot) -> None:
    page = explained(look, "labels")
    (choice,) = asked(server_of("labels"), "trace", text=TEXTS["labels"])["choices"]
    assert {"drama", "war"} <= set(choice["given"])
    said = page.locator(".choice p").inner_text()
    assert said == f"The labels are {', '.join(choice['given'])}"
    assert "most probable then" not in page.locator(".contributions").inner_text()
    page = explained(look, "labels", answer="comedy")
    why = asked(server_of("labels"), "saliency", text=TEXTS["labels"], answer="comedy")
    assert shown(page) == pytest.approx(why["values"], abs=0.0051)
    assert page.locator(".word.flips").count() == 0
    assert violations(page) == []
    shot(page, "saliency-labels")
