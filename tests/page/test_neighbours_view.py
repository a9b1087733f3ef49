"""The view `neighbours`: its answer against cosines by hand, the page against its answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from asking import asked
from expecting import expect

from insight_models import make
from unspool.errors import ConfigError, DataError
from unspool.page.answers import answer
from unspool.page.neighbours import ONE_HOT, SPELLED
from unspool.page.subject import Subject
from unspool.tasks.examples import Example


def subject(name: str) -> Subject:
    task, model = make(name)
    return Subject(task, model, Path("run"), Path("run/metrics.jsonl"), [Example("a b")])


def by_hand(tokens: list[str], table: np.ndarray, word: str) -> dict[str, float]:
    own = table[tokens.index(word)]
    return {
        token: float(v @ own / np.linalg.norm(v) / np.linalg.norm(own))
        for token, v in zip(tokens, table)
        if token not in (word, "<pad>")
    }


@pytest.mark.parametrize(
    "name",
    ["classify-lstm", "tag-bilstm", "generate-gru", "generate-transformer", "pretrain-transformer"],
)
def test_the_nearest_have_the_largest_cosines(name) -> None:
    of = subject(name)
    found = answer(of, "neighbours", {"word": "c", "top": "4"})
    model = of.trained
    table = model.encoder.input.embedding.weight.detach().numpy()
    cosines = by_hand(of.task.tokenizer.vocab.tokens, table, "c")
    best = sorted(cosines, key=lambda token: -cosines[token])[:4]
    assert [each["token"] for each in found["neighbours"]] == best
    for each in found["neighbours"]:
        assert each["similarity"] == pytest.approx(cosines[each["token"]], abs=1e-5)
    assert [each["token"] for each in found["map"]] == ["c", *best]
    assert found["spelled"] is (name == "tag-bilstm")


def test_both_sides_of_a_translator() -> None:
    of = subject("translate-bahdanau")
    read = answer(of, "neighbours", {"word": "c"})
    assert (read["sides"], read["side"]) == (["read", "written"], "read")
    written = answer(of, "neighbours", {"word": "C", "side": "written", "text": "a b"})
    table = of.trained.decoder.embedding.weight.detach().numpy()
    cosines = by_hand(of.task.target_tokenizer.vocab.tokens, table, "C")
    first = written["neighbours"][0]
    assert first["similarity"] == pytest.approx(max(cosines.values()), abs=1e-5)
    assert written["tokens"][-1] == "</s>"


def test_without_a_word_one_of_the_text_is_taken() -> None:
    found = answer(subject("classify-lstm"), "neighbours", {"text": "nothing b known"})
    assert found["word"] == "b"
    assert found["tokens"] == ["‹nothing›", "b", "‹known›"]
    found = answer(subject("classify-lstm"), "neighbours", {"word": "‹nothing›"})
    assert found["word"] == "<unk>"
    assert answer(subject("classify-lstm"), "neighbours", {})["word"] == "a"


@pytest.mark.parametrize(("name", "why"), [("classify-one-hot", ONE_HOT), ("elmo", SPELLED)])
def test_models_without_vectors_of_tokens_say_so(name, why) -> None:
    assert answer(subject(name), "neighbours", {"text": "a b"}) == {"none": why}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"word": "zebra"}, "no vector for this word; got 'zebra'"),
        ({"word": "a b"}, "these are 2 tokens; got 'a b'. Choose one of 'a', 'b'"),
    ],
)
def test_a_word_that_has_no_vector(given, says) -> None:
    with pytest.raises(DataError, match=says):
        answer(subject("classify-lstm"), "neighbours", given)


def test_a_side_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="unknown side; got 'written'"):
        answer(subject("classify-lstm"), "neighbours", {"word": "a", "side": "written"})


def test_the_page_shows_the_list_and_the_map(look, server_of, shot) -> None:
    page = look("bilstm", view="neighbours", word="lovely")
    expected = asked(server_of("bilstm"), "neighbours", word="lovely")
    rows = page.locator(".bars tbody tr")
    assert len(expected["neighbours"]) == 12
    expect(rows).to_have_count(12)
    first = expected["neighbours"][0]
    assert rows.first.inner_text().split() == [first["token"], f"{first['similarity']:.4f}"]
    expect(page.locator(".map circle")).to_have_count(13)
    boxes = page.locator(".map text").evaluate_all(
        "all => all.map((t) => { const b = t.getBBox(); return [b.x, b.y, b.width, b.height]; })"
    )
    assert len(boxes) > 6
    assert not any(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    shot(page, "neighbours-bilstm")


def overlap(a: list[float], b: list[float], slack: float = 2.0) -> bool:
    return all(a[i] + slack < b[i] + b[i + 2] and b[i] + slack < a[i] + a[i + 2] for i in (0, 1))


def test_words_are_clicked_and_typed(look) -> None:
    page = look("bilstm", view="neighbours")
    page.locator(".words .word", has_text="dull").click()
    page.wait_for_selector("h2 .token:text-is('dull')")
    assert "word=dull" in page.url
    page.locator(".bars button").first.click()
    page.wait_for_selector("h2 .token:not(:text-is('dull'))")
    page.fill("#neighbours-word", "film")
    page.press("#neighbours-word", "Enter")
    page.wait_for_selector("h2 .token:text-is('film')")
    page.select_option("#neighbours-top", "6")
    page.wait_for_selector(".bars tbody tr:nth-child(6):last-child")
    assert "top=6" in page.url


def test_an_unknown_word_is_one_line(look, allowed) -> None:
    allowed.append("400")
    page = look("bilstm", view="neighbours", word="goood")
    says = page.locator(".view .error").inner_text()
    assert says == "the model's vectors: no vector for this word; got 'goood'. Did you mean 'good'?"
    expect(page.locator(".bars tbody tr")).to_have_count(12)


def test_the_other_side_of_a_translator(look, new_page, shot) -> None:
    page = look("bahdanau", view="neighbours", on=new_page(width=390, scheme="dark"))
    page.select_option("#neighbours-side", "written")
    page.wait_for_selector(".words .word:has-text('Haus')")
    page.locator(".words .word", has_text="Haus").click()
    page.wait_for_selector("h2 .token:text-is('Haus')")
    assert "side=written" in page.url
    shot(page, "neighbours-bahdanau-390-dark")
