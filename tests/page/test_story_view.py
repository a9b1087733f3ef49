"""Pages of models that answer questions about stories: what is read are sentences."""

from __future__ import annotations

import numpy as np
import pytest
from accessible import is_too_wide, violations
from asking import asked
from expecting import expect
from page_runs import STORY

SENTENCES = ["Zoe went to the kitchen.", "Carl went to the hall.", "Zoe went to the hall."]


def test_the_shares_of_a_reduction(look, server_of, shot) -> None:
    """Those of a hop add up to less than 1, and the page says so."""
    trace = asked(server_of("reduction"), "trace", text=STORY)
    (weights,) = [np.array(a["values"]) for a in trace["arrays"] if a["kind"] == "alignment"]
    assert weights.sum(1).max() < 0.99
    page = look("reduction", view="attention", step=1)
    expect(page.locator(".about")).to_contain_text(
        "What the state of each hop after the last sentence is made of: a weight for each sentence."
        " The weights of a hop add up to 1 at most; the rest is the state before the first"
        " sentence, zero."
    )
    expect(page.locator(".looks")).to_have_text(
        f"In hop 2 the last state is made of, {weights[1].sum():.2f} in all:"
    )
    expect(page.locator(".player output")).to_have_text("hop 2 of 2")
    shown = page.locator(".reader .words").last.locator(".word").all_inner_texts()
    assert shown == SENTENCES
    assert violations(page) == []
    shot(page, "attention-reduction")


def test_the_weights_of_a_memory(look) -> None:
    page = look("memory", view="attention", step=0)
    expect(page.locator(".about")).to_have_text(
        "What looks at which sentence: a weight, the weights of a row add up to 1."
    )
    expect(page.locator(".looks")).to_have_text("In hop 1 the model looks at:")
    expect(page.locator(".player output")).to_have_text("hop 1 of 3")


@pytest.mark.parametrize("width", [1400, 390])
def test_sentences_are_not_cut_where_there_is_room(look, new_page, width: int) -> None:
    page = look("memory", view="attention", on=new_page(width=width))
    names = page.locator("svg.lines text.column").all_text_contents()
    if width == 1400:
        assert names == SENTENCES
    assert all(len(name) > 14 for name in names)
    assert not is_too_wide(page)


def test_what_the_search_found_is_called_an_answer(look) -> None:
    page = look("lists", view="attention")
    heads = page.locator("section:has(> h2:text-is('What the search found')) th")
    expect(heads).to_have_text(["answer", "score", "log probability"])
    expect(page.locator(".about")).to_contain_text("the weights of a row add up to 1.")
    page = look("copying", view="attention")
    expect(heads.first).to_have_text("summary")
    page = look("bahdanau", view="attention")
    expect(heads.first).to_have_text("translation")


def test_reasons_are_sentences(look) -> None:
    page = look("reduction", view="saliency")
    expect(page.locator(".about")).to_contain_text("orange sentences speak for it")
    expect(page.locator("table.contributions thead th").first).to_have_text("sentence")
    expect(page.locator(".view .surface p.note")).to_contain_text("(no sentence is read)")
    page = look("lists", view="saliency")
    expect(page.locator("label:has(#saliency-step)")).to_contain_text("Token that is written")


def test_the_latest_sentences_are_read(run_of, server_of, look) -> None:
    """Of a story that is longer than the memory."""
    story = "Anna went to the hall. " * 70 + "||| Where was Anna?"
    page = look("memory", view="saliency", text=story)
    expect(page.locator(".view p.note").first).to_have_text(
        "Only the latest 64 of 70 sentences were read."
    )


def test_words_of_a_story(look, server_of) -> None:
    server = server_of("reduction")
    assert asked(server, "answer", text=STORY)["unknown"] == ["‹zoe›"]
    page = look("reduction", view="neighbours")
    words = page.locator('[aria-label="Tokens of the text"] .word').all_inner_texts()
    assert words == [
        "‹zoe›", "went", "to", "the", "kitchen", ".", "carl", "hall", "where", "was", "?"
    ]  # fmt: skip


def test_ages_of_sentences(look, server_of) -> None:
    server = server_of("memory")
    found = asked(server, "positions", length=16)
    assert found["kind"] == "ages"
    ages = server.subject.model.memory.ages[0, :16].detach().numpy()
    np.testing.assert_allclose(found["values"], ages, atol=5.1e-5)  # four digits
    page = look("memory", view="positions")
    expect(page.locator(".view p.note").first).to_contain_text(
        "a vector for each age of a sentence, 0 the latest"
    )
    expect(page.locator("#panel h2", has_text="One age")).to_be_visible()
    page = look("reduction", view="positions")
    expect(page.locator(".view p.note").first).to_contain_text("one sentence after the other")
