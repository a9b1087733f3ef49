"""The view `ngrams`: its answer against the model's own features, the page against its answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from asking import asked
from page_runs import TEXTS

import unspool
from insight_models import make
from unspool.api.run import load
from unspool.errors import ConfigError
from unspool.insight.ngrams import ngrams_of_file
from unspool.nn.taps import record
from unspool.page.answers import answer
from unspool.page.subject import Subject, open_subject
from unspool.tasks.examples import Example

TEXT = "c d e f g h"


def subject(name: str, **settings: object) -> Subject:
    task, model = make(name, **settings)
    return Subject(task, model, Path("run"), Path("run/metrics.jsonl"), [Example(TEXT)])


def features(of: Subject) -> np.ndarray:
    """(T, K·F) of the first layer."""
    path = "encoder.network.layers.0.features"
    with torch.no_grad(), record(of.trained, path) as passed:
        of.read(TEXT).run()
    return passed[path][0].numpy()


def one_layer() -> Subject:
    return subject("classify-cnn", layers=1)


def test_each_filter_has_its_strongest_place() -> None:
    of = one_layer()
    found = answer(of, "ngrams", {"text": TEXT})
    values = features(of)
    assert (found["filters"], found["widths"], found["layers"]) == (12, [2, 3, 4], 1)
    assert {each["filter"] for each in found["found"]} == set(np.flatnonzero(values.max(0) > 0))
    for each in found["found"]:
        own = values[:, each["filter"]]
        assert each["activation"] == pytest.approx(own.max())
        assert each["position"] == own.argmax()
        assert each["width"] == (2, 3, 4)[each["filter"] // 4]
        assert each["first"] == each["position"] - (each["width"] - 1) // 2


def test_a_weight_is_what_the_score_rises_by() -> None:
    """Against an output layer that is read directly: logits = W v + b, v the largest features."""
    of = one_layer()
    W = of.trained.output.linear.weight.detach().numpy()  # (C, K·F)
    against = W - (W.sum(0) - W) / (len(W) - 1)
    found = answer(of, "ngrams", {"text": TEXT})["found"]
    for each in found:
        own = against[:, each["filter"]]
        assert each["label"] == of.task.labels[own.argmax()]
        assert each["weight"] == pytest.approx(own.max(), abs=1e-5)
    moves = [each["weight"] * each["activation"] for each in found]
    assert moves == sorted(moves, reverse=True)


def test_filters_below_others_speak_for_no_class() -> None:
    found = answer(subject("classify-cnn"), "ngrams", {"text": TEXT})
    assert found["layers"] == 2
    assert {each["label"] for each in found["found"]} == {None}
    strong = [each["activation"] for each in found["found"]]
    assert strong == sorted(strong, reverse=True)


def test_the_filters_of_each_word_of_a_tagger() -> None:
    of = subject("tag-cnn")
    found = answer(of, "ngrams", {"text": TEXT})
    values = features(of)
    assert [choice["asked"] for choice in found["choices"]] == TEXT.split()
    for place in range(len(TEXT.split())):
        own = [each for each in found["found"] if each["position"] == place]
        best = np.sort(values[place])[::-1][:6]
        assert [each["activation"] for each in own] == pytest.approx(best[best > 0].tolist())


def test_a_model_without_filters() -> None:
    with pytest.raises(ConfigError, match="what the filters of a convolution answer to"):
        answer(subject("classify-lstm"), "ngrams", {"text": TEXT})


def test_filters_that_read_series(tmp_path) -> None:
    rows = [f"{i},{t},{i % 2 + t},{'ab'[i % 2]}" for i in range(12) for t in range(5)]
    (tmp_path / "steps.csv").write_text("\n".join(["id,time,x,label", *rows]))
    settings = {"filters": 2, "epochs": 1, "threads": 1, "valid_share": 0.3}
    unspool.train(tmp_path / "steps.csv", model="cnn", out=tmp_path / "run", **settings)
    with pytest.raises(ConfigError, match="filters of this model read series"):
        answer(open_subject(tmp_path / "run"), "ngrams", {"text": "1"})


def test_strips_stand_below_their_words(look, server_of, shot) -> None:
    page = look("cnn", view="ngrams")
    found = asked(server_of("cnn"), "ngrams", text=TEXTS["cnn"])
    words = page.locator(".roll-word")
    where = {words.nth(i).inner_text(): words.nth(i).bounding_box() for i in range(words.count())}
    tokens = found["tokens"]
    inside = [e for e in found["found"] if 0 <= e["first"] <= len(tokens) - e["width"]]
    shown = [e for e in inside if page.locator(f"#filter-{e['filter']}").count()]
    assert len(shown) > 3
    for each in shown:
        strip = page.locator(f"#filter-{each['filter']}")
        assert strip.inner_text() == f"{each['activation']:.2f}"
        box, first, last = (
            strip.bounding_box(),
            where[tokens[each["first"]]],
            where[tokens[each["first"] + each["width"] - 1]],
        )
        if tokens.count(tokens[each["first"]]) == 1:
            assert box["x"] == pytest.approx(first["x"], abs=1)
        if tokens.count(tokens[each["first"] + each["width"] - 1]) == 1:
            assert box["x"] + box["width"] == pytest.approx(last["x"] + last["width"], abs=1)
    titles = page.locator(".roll-title").all_inner_texts()
    assert sorted(title.split(":")[0] for title in titles) == ["For neg", "For pos"]
    shot(page, "ngrams-cnn")


def test_filters_are_chosen_by_mouse_and_keys(look) -> None:
    page = look("cnn", view="ngrams")
    strips = page.locator(".strip")
    strips.nth(1).click()
    number = strips.nth(1).get_attribute("data-filter")
    assert page.locator(".detail h2").inner_text() == f"Filter {number}"
    assert f"filter={number}" in page.url
    page.keyboard.press("ArrowDown")
    number = strips.nth(2).get_attribute("data-filter")
    assert page.locator(".detail h2").inner_text() == f"Filter {number}"
    before = strips.count()
    page.select_option("#ngrams-filters", "all")
    assert strips.count() > before
    assert page.locator(".detail h2").inner_text() == f"Filter {number}"


def test_titles_stay_in_sight_while_strips_are_scrolled(look, new_page) -> None:
    page = look("cnn", on=new_page(width=390), view="ngrams")
    seen = page.evaluate(
        """() => {
          const box = document.querySelector('.roll').parentElement;
          box.scrollLeft = box.scrollWidth;
          const left = (node) => node.getBoundingClientRect().left;
          const titles = [...box.querySelectorAll('.roll-title')];
          return { moved: box.scrollLeft, lefts: titles.map((each) => left(each) - left(box)) };
        }"""
    )
    assert seen["moved"] > 0
    assert min(seen["lefts"]) >= 0


def test_the_ngrams_of_a_corpus(run_of, serve, reviews, new_page, shot) -> None:
    run = load(run_of("cnn"))
    table = ngrams_of_file(run.task, run.model, reviews)
    server = serve(run.subject()._replace(table=table))
    page = new_page(width=390, scheme="dark")
    page.goto(server.address(view="ngrams", text=TEXTS["cnn"]))
    page.wait_for_selector(".corpus")
    shown = page.locator(".view").inner_text()
    for label in ("neg", "pos"):
        best = next(f for f in table.features if f.label == label)
        assert f"Filter {best.filter}, width {best.width}, weight {best.weight:.2f}" in shown
        assert best.ngrams[0].text in shown
    shot(page, "ngrams-corpus-390-dark")


def test_words_of_a_tagger(sentences, tmp_path, serve, new_page, shot) -> None:
    from unspool.api.train import train

    small = {"filters": 8, "embedding": 8, "epochs": 1, "threads": 1, "character_hidden": 4}
    run = train(sentences, model="cnn", out=tmp_path / "run", **small)
    server = serve(run.subject())
    page = new_page()
    page.goto(server.address(view="ngrams", text="Anna met Bern ."))
    page.wait_for_selector(".roll")
    found = asked(server, "ngrams", text="Anna met Bern .")
    page.locator("button.word").nth(1).click()
    page.keyboard.press("ArrowRight")
    assert "word=2" in page.url
    assert "The tag of “Bern” is" in page.locator(".view").inner_text()
    own = [f"{e['activation']:.2f}" for e in found["found"] if e["position"] == 2]
    assert page.locator(".strip").all_inner_texts() == own
    shot(page, "ngrams-tagger")
