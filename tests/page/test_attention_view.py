"""The view `attention`, driven by mouse and keyboard; its numbers against the trace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accessible import violations
from asking import asked
from expecting import expect
from page_runs import TEXTS

from insight_models import MODELS, TEXT, make
from unspool.insight.plots.attention import scale_end
from unspool.insight.trace import trace
from unspool.page.subject import Subject
from unspool.page.views import views_of
from unspool.tasks.examples import Example


@pytest.mark.parametrize("name", MODELS)
def test_models_that_look_have_the_view(name) -> None:
    task, model = make(name)
    kinds = {array.kind for array in trace(task, model, TEXT).arrays}
    looks = any(kind.endswith(("attention", "alignment", "pooling")) for kind in kinds)
    subject = Subject(task, model, Path("run"), Path("run/metrics.jsonl"), [Example(TEXT)])
    assert ("attention" in views_of(subject)) is looks


def weights_of(server: Any, name: str, kind: str) -> list[np.ndarray]:
    """(heads, rows, columns) of each layer."""
    traced = asked(server, "trace", text=TEXTS[name])
    return [np.array(a["values"]) for a in traced["arrays"] if a["kind"] == kind]


def shown_weights(page: Any) -> list[float]:
    """Those below the words that are looked at."""
    words = page.locator(".reader .words").last.locator(".word")
    return [float(word.get_attribute("data-note")) for word in words.all()]


def test_a_head_in_lines_and_in_a_matrix(look, server_of, shot) -> None:
    page = look("transformer", view="attention", layer=2, head=2, row=3)
    layers = weights_of(server_of("transformer"), "transformer", "self_attention")
    row = layers[1][1][3]
    assert shown_weights(page) == pytest.approx(row.tolist(), abs=0.0051)
    expect(page.locator("svg.lines text.row")).to_have_count(7)
    shown = page.locator("canvas.matrix").get_attribute("aria-label")
    best = int(row.argmax())
    assert "Matrix of 7 by 7 weights" in shown
    assert f"“{TEXTS['transformer'].split()[best]}” {row[best]:.2f}" in shown
    drawn = int((row >= 0.02).sum())  # of a scale that ends at 1
    expect(page.locator("svg.lines .lit line")).to_have_count(drawn)
    assert violations(page) == []
    shot(page, "attention-transformer")


def test_all_heads_and_their_mean(look, server_of, shot) -> None:
    page = look("transformer", view="attention", row=0)
    layers = weights_of(server_of("transformer"), "transformer", "self_attention")
    expect(page.locator(".head")).to_have_count(4)
    assert shown_weights(page) == pytest.approx(layers[0].mean(0)[0].tolist(), abs=0.0051)
    shot(page, "attention-heads")
    page.locator(".head").nth(3).click()
    page.wait_for_selector("canvas.matrix")
    assert "layer=2" in page.url
    assert "head=2" in page.url
    assert page.locator("#attention-head").input_value() == "2"
    page.select_option("#attention-head", "mean")
    assert shown_weights(page) == pytest.approx(layers[1].mean(0)[0].tolist(), abs=0.0051)


def test_one_colour_scale_for_all_heads(look) -> None:
    """Whatever the largest weight of one head is."""
    legends = []
    for layer, head in ((1, "all"), (1, "mean"), (1, 1), (1, 2), (2, 1), (2, 2)):
        page = look("transformer", view="attention", layer=layer, head=head)
        legends.append(page.locator(".attention .legend").inner_text().split())
    assert legends[0][-5:] == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert all(legend == legends[0] for legend in legends)


def told(page: Any, matrix: list[list[float]], names: list[str], *, square: bool = True) -> str:
    """What the page says of a head."""
    return page.evaluate(
        """async ([matrix, how]) => {
          const { habit } = await import('/web/views/attention/weights.js');
          return habit(matrix, how);
        }""",
        [matrix, {"square": square, "names": names}],
    )


def test_what_is_said_of_a_head_is_what_most_of_its_weight_does(look) -> None:
    page, names = look("bilstm", view="training"), ["not", "bad", "at", "all"]
    before = np.eye(4, k=-1)
    before[0, 0] = 1
    assert told(page, before.tolist(), names) == "the token before 1.00"
    assert told(page, np.eye(4).tolist(), names) == "the token itself 1.00"
    weak = np.full((4, 4), 0.05 / 3)
    weak[:, 1] = 0.95  # of which the token before has its share, too
    assert told(page, weak.tolist(), names) == "“bad” 0.95"
    assert told(page, weak.tolist(), names, square=False) == "“bad” 0.95"
    even = np.full((4, 4), 0.25)
    even[:, 1:3] += [[0.05, -0.05]]
    assert told(page, even.tolist(), names).startswith("spread over 4.0 tokens, most on “bad” 0.30")


@pytest.mark.parametrize(("most", "end"), [(0.61, 1), (1.0, 1), (0.3, 0.5), (0.04, 0.05)])
def test_where_the_scale_ends(look, most, end) -> None:
    """The same on the page and in pictures; a row that sees one token alone does not count."""
    head = np.tril(np.full((8, 8), most / 2))
    head[0, 0], head[7, 3] = 1.0, most
    page = look("bilstm", view="training")
    found = page.evaluate(
        """async (head) => (await import('/web/views/attention/weights.js'))
          .scaleEnd({ layers: [{ heads: [head] }] })""",
        head.tolist(),
    )
    assert found == scale_end([head[None]]) == end


def test_keys(look, server_of) -> None:
    page = look("transformer", view="attention", head=1, row=0)
    layers = weights_of(server_of("transformer"), "transformer", "self_attention")
    page.locator(".reader .word[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "PageDown"):
        page.keyboard.press(key)
    assert all(part in page.url for part in ("row=2", "head=2", "layer=2"))
    assert shown_weights(page) == pytest.approx(layers[1][1][2].tolist(), abs=0.0051)
    for key in ("ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowLeft", "PageUp"):
        page.keyboard.press(key)
    assert all(part in page.url for part in ("row=1", "head=all", "layer=1"))
    expect(page.locator(".head")).to_have_count(4)


def test_pointing_at_a_row(look, server_of) -> None:
    page = look("transformer", view="attention", head=1, layer=1, row=0)
    layers = weights_of(server_of("transformer"), "transformer", "self_attention")
    page.locator("svg.lines text.row").nth(4).hover()
    assert shown_weights(page) == pytest.approx(layers[0][0][4].tolist(), abs=0.0051)
    page.locator(".about").hover()
    assert shown_weights(page) == pytest.approx(layers[0][0][0].tolist(), abs=0.0051)
    page.locator("svg.lines text.row").nth(4).click()
    assert "row=4" in page.url


def test_a_translation_is_written_step_by_step(look, server_of, shot) -> None:
    page = look("bahdanau", view="attention", step=0)
    traced = asked(server_of("bahdanau"), "trace", text=TEXTS["bahdanau"])
    (alignment,) = weights_of(server_of("bahdanau"), "bahdanau", "alignment")
    page.locator(".reader .word[tabindex='0']").focus()
    for step, choice in enumerate(traced["choices"][:3]):
        if step:
            page.keyboard.press("ArrowDown")
        assert shown_weights(page) == pytest.approx(alignment[step].tolist(), abs=0.0051)
        shown = page.locator(".choice p").inner_text()
        assert f"{choice['answer']} with probability {choice['answer_value']:.4f}" in shown
        rows = page.locator(".choice .bars tbody tr")
        best = choice["alternatives"][0]
        assert rows.first.inner_text().split() == [best["answer"], f"{best['answer_value']:.4f}"]
    later = page.locator(".reader .word.later").count()
    assert later == len(traced["written"]) - 3
    page.locator("#player").fill("4")
    assert "step=4" in page.url
    candidates = page.locator("[aria-label='What the search found'] tbody tr")
    expect(candidates).to_have_count(len(traced["candidates"]))
    assert candidates.first.inner_text().startswith(traced["candidates"][0]["translation"])
    shot(page, "attention-bahdanau")


def test_a_summary_shows_what_was_copied(look, shot) -> None:
    page = look("copying", view="attention", step=2)
    assert page.locator("#answer, .answer").first.inner_text().startswith("Answer: meeting with")
    assert "but may copy: ‹zzyzxqq›" in page.locator(".unknown").inner_text()
    assert page.locator(".reader .word.source").inner_text().startswith("‹zzyzxqq›")
    origin = page.locator(".reader .origin")
    assert re.fullmatch(
        r"It was copied from “‹zzyzxqq›” .* 1\.00 \(p_gen .*\)\.", origin.inner_text()
    )
    page.locator("#player").fill("0")
    assert origin.inner_text().startswith("It was generated (p_gen")
    expect(page.locator(".reader .word.source")).to_have_count(0)
    head = page.locator("[aria-label='What the search found'] th").first
    assert head.inner_text() == "summary"
    shot(page, "attention-copying")


def test_what_does_not_copy_says_nothing_of_it(look) -> None:
    page = look("bahdanau", view="attention")
    assert page.locator(".reader .origin").is_hidden()
    head = page.locator("[aria-label='What the search found'] th").first
    assert head.inner_text() == "translation"


def test_playing(look) -> None:
    page = look("bahdanau", view="attention", step=0)
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector(".player output:text-is('step 3 of 7')")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Step before").click()
    assert page.locator(".player output").inner_text() == "step 2 of 7"


def test_what_follows_each_token_of_a_language_model(look, server_of, shot, new_page) -> None:
    page = look("writer", view="attention", row=4, head=2, on=new_page(width=390, scheme="dark"))
    traced = asked(server_of("writer"), "trace", text=TEXTS["writer"])
    choice = traced["choices"][4]
    assert f"probability {choice['answer_value']:.4f}" in page.locator(".choice p").inner_text()
    causal = weights_of(server_of("writer"), "writer", "causal_attention")[0][1]
    assert shown_weights(page)[5:] == [0] * (len(TEXTS["writer"]) - 5)
    assert shown_weights(page) == pytest.approx(causal[4].tolist(), abs=0.0051)
    shot(page, "attention-writer-390-dark")


@pytest.mark.parametrize(
    "address",
    [{"layer": 9, "head": 9, "row": 99}, {"kind": "no", "head": "x", "row": -3, "step": "y"}],
)
def test_an_address_out_of_reach_shows_what_there_is(look, address) -> None:
    page = look("transformer", view="attention", **address)
    assert sum(shown_weights(page)) == pytest.approx(1, abs=0.05)


def test_a_long_text_is_shown_in_windows(look) -> None:
    text = " ".join(["the film was good and the plot was bad"] * 60)
    page = look("transformer", view="attention", head="mean", text=text)
    assert "of 540 are shown" in page.locator(".window").inner_text()
    assert page.evaluate("document.querySelectorAll('*').length") < 5000
    page.locator("#window-after").click()
    page.wait_for_selector("#window-before:not(:disabled)")
    first = int(page.url.rpartition("first=")[2])
    assert first > 0
    assert page.locator(".reader .word").first.get_attribute("data-at") == str(first)


def test_it_begins_at_a_row_that_shows_something(look, server_of) -> None:
    """A classifier at the token that looks most at another one; a translator at its longest token,
    which `</s>` is not."""
    page = look("transformer", view="attention", head=1)
    (weights, _) = weights_of(server_of("transformer"), "transformer", "self_attention")
    others = weights[0] - 2 * np.eye(len(weights[0]))
    row = int(others.max(1).argmax())
    assert page.locator(".reader .word[aria-pressed=true]").get_attribute("data-at") == str(row)
    page = look("bahdanau", view="attention")
    written = asked(server_of("bahdanau"), "trace", text=TEXTS["bahdanau"])["written"]
    chosen = page.locator(".reader .word[aria-pressed=true]").inner_text()
    assert len(chosen) == max(len(token) for token in written[:-1] if token != "<unk>")


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_no_line_leaves_its_frame(look, new_page, width) -> None:
    """Also where two pictures just fit side by side."""
    page = look("transformer", view="attention", head=1, on=new_page(width=width))
    for name in ("svg.lines", "canvas.matrix"):
        box = page.locator(f".scroll:has(> {name})")
        assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
