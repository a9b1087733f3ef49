"""The view `unrolled`: driven by mouse and keyboard, its numbers against Python's."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from asking import asked
from expecting import expect
from page_runs import TEXTS, settle

from insight_models import MODELS, TEXT, make
from unspool.api.run import load
from unspool.insight.trace import trace
from unspool.nn.cells import CELLS, Cell
from unspool.nn.taps import Tap
from unspool.page.saved import saved_page
from unspool.page.subject import Subject, open_subject
from unspool.tasks.examples import Example

VARIANTS = {
    **{cell: (cell, {}) for cell in CELLS},
    "gru-before": ("gru", {"reset": "before"}),
    "gru-take": ("gru", {"update": "take"}),
    **{f"elman-{name}": ("elman", {"activation": name})
       for name in ("sigmoid", "relu", "leaky_relu", "elu", "maxout")},
    "peephole-full": ("peephole", {"matrix": "full", "peepholes": "io"}),
}  # fmt: skip

FUNCTIONS = {
    "σ": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "elu": lambda x: x if x > 0 else math.exp(x) - 1,
    "max": max,
}
# The equations as they stand, with all digits of their numbers.
EQUATIONS = """cards => cards.map(card => [...card.querySelectorAll('.numbers')].map(line => {
  const copy = line.cloneNode(true);
  for (const number of copy.querySelectorAll('data')) number.replaceWith(number.value);
  return [copy.textContent, line.textContent];
})).flat()"""


def sides(equation: str) -> list[float]:
    """What stands on each side of the = signs of `= σ(1 + (−2)) = 0.27`."""
    python = equation.replace("·", "*").replace("−", "-")
    return [
        eval(side, {"__builtins__": {}}, FUNCTIONS) for side in python.split("=") if side.strip()
    ]


@pytest.fixture
def look_at(page, serve):
    """Opens the view of a model with random weights."""

    def go(task, model, **params):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        server = serve(
            Subject(task, model, Path("run"), Path("run/metrics.jsonl"), [Example(TEXT)])
        )
        more = "".join(f"&{name}={value}" for name, value in params.items())
        page.goto(f"{server.address()}#view=unrolled{more}")
        settle(page)
        return page

    return go


@pytest.mark.parametrize("name", VARIANTS)
def test_the_numbers_satisfy_the_equations(name, look_at, monkeypatch) -> None:
    cell, options = VARIANTS[name]
    monkeypatch.setitem(MODELS, "variant", ("classify", f"bi{cell}", options))
    task, model = make("variant")
    page = look_at(task, model, direction="backwards", layer=2, step=3, unit=5)
    found = page.eval_on_selector_all(".card", EQUATIONS)
    assert len(found) >= 2
    for exact, shown in found:
        values = sides(exact)
        assert len(values) >= 2
        assert np.ptp(values) < 1e-3, exact
        assert np.ptp(sides(shown)) < 4e-3, shown
    states = trace(task, model, TEXT).find("hidden_state")
    hidden = next(a.values for a in states if (a.layer, a.direction) == (2, "backwards"))
    assert sides(found[-1][0])[-1] == pytest.approx(hidden[2, 5], abs=1e-3)
    page.locator("#panel .scroll").first.focus()
    page.keyboard.press("ArrowLeft")
    after = page.eval_on_selector_all(".card", EQUATIONS)
    assert sides(after[-1][0])[-1] == pytest.approx(hidden[1, 5], abs=1e-3)


def test_time_goes_by_keys_slider_buttons_and_clicks(look, shot) -> None:
    page = look("bilstm", view="unrolled")
    words = len(TEXTS["bilstm"].split())
    title = page.locator(".walk h2")

    def at() -> int:
        return int(re.search(r"step (\d+)", title.inner_text())[1])

    page.locator(".columns-in-time").locator("..").focus()
    page.keyboard.press("End")
    assert at() == words
    page.keyboard.press("Home")
    assert at() == 1
    page.keyboard.press("ArrowRight")
    assert at() == 2
    assert "step=2" in page.url
    page.keyboard.press("End")
    assert at() == words
    page.get_by_role("button", name="Token before").click()
    assert at() == words - 1
    page.locator("#player").focus()
    page.keyboard.press("Home")
    assert at() == 1
    chain = page.locator(".chain svg")
    wide = chain.bounding_box()["width"] / words
    chain.click(position={"x": 2.5 * wide, "y": 20})
    assert at() == 3
    shot(page, "unrolled-bilstm")


def test_a_unit_is_followed(look, run_of) -> None:
    page = look("bilstm", view="unrolled", order="index", step=2, unit=0)
    run = load(run_of("bilstm"))
    recorded = trace(run.task, run.model, TEXTS["bilstm"])
    cell = recorded.find("cell_state")[0].values
    strip = page.locator("[data-kind=cell_state]")
    assert float(strip.locator(".value").inner_text().replace("−", "-")) == pytest.approx(
        cell[1, 0], abs=1e-3
    )
    steps, units = cell.shape
    canvas = strip.locator("canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": 3.5 * box["width"] / steps, "y": 6.5 * box["height"] / units})
    assert page.locator(".walk h2").inner_text().startswith("Unit 6, step 4")
    page.keyboard.press("ArrowDown")
    assert page.locator("#unit").input_value() == "7"
    assert "unit=7" in page.url
    page.locator("#unit").select_option(label="3")
    assert page.locator(".walk h2").inner_text().startswith("Unit 3, step 4")
    page.get_by_text("All numbers of unit 3").click()
    rows = page.locator("details table tbody tr")
    expect(rows).to_have_count(steps)
    column = 2 + [a.kind for a in recorded.arrays[:6]].index("cell_state")
    shown = [float(rows.nth(t).locator("td, th").nth(column).inner_text().replace("−", "-"))
             for t in range(steps)]  # fmt: skip
    np.testing.assert_allclose(shown, cell[:, 3], atol=1e-3)


def test_units_are_ordered_by_movement(look, run_of) -> None:
    run = load(run_of("bilstm"))
    hidden = trace(run.task, run.model, TEXTS["bilstm"]).find("hidden_state")[0].values
    page = look("bilstm", view="unrolled")
    order = [int(text) for text in page.locator("#unit option").all_inner_texts()]
    moves = hidden.std(0)[order]
    assert np.all(np.diff(moves) <= 1e-5)
    page.locator("#order").select_option("index")
    order = [int(text) for text in page.locator("#unit option").all_inner_texts()]
    assert order == sorted(order)
    assert "order=index" in page.url


def test_the_colours_are_those_of_the_numbers(look, run_of) -> None:
    """The strongest pixel of a strip is the largest number of the gate."""
    run = load(run_of("bilstm"))
    gate = trace(run.task, run.model, TEXTS["bilstm"]).find("forget_gate")[0].values
    page = look("bilstm", view="unrolled", order="index")
    reds = page.eval_on_selector(
        "[data-kind=forget_gate] canvas",
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
        ".filter((_, i) => i % 4 === 0)",
    )
    reds = np.array(reds).reshape(gate.shape[1], gate.shape[0]).T
    assert reds[np.unravel_index(gate.argmax(), gate.shape)] == reds.min()
    assert reds[np.unravel_index(gate.argmin(), gate.shape)] == reds.max()


def test_a_direction_that_reads_backwards_says_so(look) -> None:
    page = look("bilstm", view="unrolled")
    expect(page.get_by_text("time runs from right to left")).to_have_count(0)
    page.locator("#layer").select_option("encoder 1 backwards")
    settle(page)
    assert page.get_by_text("time runs from right to left").is_visible()
    assert "direction=backwards" in page.url
    words = len(TEXTS["bilstm"].split())
    numbers = page.locator(".chain svg text").all_text_contents()
    assert numbers == [str(words - i) for i in range(words)]
    assert page.locator(".walk h2").inner_text().startswith("Unit")
    page.locator(".columns-in-time").locator("..").focus()
    page.keyboard.press("Home")
    assert f"step {words}" in page.locator(".walk h2").inner_text()  # the last one it reads


def test_it_begins_where_the_unit_that_moves_most_does_so(look, server_of) -> None:
    found = asked(server_of("bilstm"), "steps", text=TEXTS["bilstm"])
    unit = int(np.argmax(found["moves"]))
    (h,) = [np.array(a["values"])[:, unit] for a in found["arrays"] if a["kind"] == "hidden_state"]
    before = np.array(found["before"]["h"])[:, unit]
    step = int(np.abs(h - before).argmax())
    page = look("bilstm", view="unrolled")
    title = f"Unit {found['units'][unit]}, step {step + 1}: “{found['tokens'][step]}”"
    assert page.locator(".walk h2").inner_text() == title


def test_it_plays(look) -> None:
    page = look("tagger", view="unrolled", direction="backwards", step=3)
    page.locator("#play").click()
    page.wait_for_selector(".view .walk h2:has-text('step 6')")  # the first token is read last
    page.wait_for_selector("#play:text-is('Play')")


def test_answers_stand_above_their_steps(look, shot) -> None:
    page = look("tagger", view="unrolled")
    above = page.locator(".word-row.answered span")
    assert above.first.inner_text() == "B-PER"
    assert above.first.get_attribute("title").startswith("B-PER, probability 0.")
    shot(page, "unrolled-tagger")


def test_a_number_has_no_bar_above_its_step(look) -> None:
    page = look("rater", view="unrolled", text="lovely")
    assert page.locator(".word-row.answered").count() == 0
    assert page.locator(".chain .chance").count() == 0
    assert page.locator(".choice p").inner_text().startswith("rating is ")


def test_both_halves_of_a_translator(look, new_page, shot) -> None:
    page = look("bahdanau", view="unrolled")
    options = page.locator("#layer option").all_inner_texts()
    assert "encoder, layer 1, backwards" in options
    page.locator("#layer").select_option(label="decoder, layer 1, forwards")
    settle(page)
    below = page.locator(".word-row:not(.answered) span").all_inner_texts()
    above = page.locator(".word-row.answered span").all_inner_texts()
    assert below == ["<s>", *above[:-1]]
    shot(page, "unrolled-bahdanau")
    page.locator("#player").focus()
    page.keyboard.press("Home")
    for exact, _ in page.eval_on_selector_all(".card", EQUATIONS):
        assert np.ptp(sides(exact)) < 1e-3  # the first state is the encoder's, not zero


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(look, new_page, shot, scheme) -> None:
    page = look("bilstm", on=new_page(width=390, scheme=scheme), view="unrolled")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.keyboard.press("Tab")
    shot(page, f"unrolled-phone-{scheme}")


def test_a_long_text_comes_in_windows(look_at) -> None:
    task, model = make("generate-gru")
    text = "+".join("abcdefghij"[i % 10] for i in range(600))
    page = look_at(task, model, text=text)
    assert page.get_by_text("Tokens 1 to 256 of 600 are shown.").is_visible()
    assert page.evaluate("document.querySelectorAll('*').length") < 5000
    page.locator("#window-after").click()
    settle(page)
    assert page.get_by_text("Tokens 257 to 512 of 600 are shown.").is_visible()
    assert page.locator(".chain svg text").first.text_content() == "257"


def test_a_layer_that_is_not_there_is_one_line(look, allowed) -> None:
    allowed.append("400")
    page = look("bilstm", view="unrolled", part="decoder")
    assert "the model has no such recurrent layer" in page.locator(".error").inner_text()


class Leaky(Cell):
    """A cell that the page has never heard of: h_t = (h_{t-1} + tanh(W x_t)) / 2"""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__(inputs, hidden)
        self.W = torch.nn.Linear(inputs, hidden)
        self.hidden_state = Tap()

    def step(self, u, state):
        h = self.hidden_state((state[0] + torch.tanh(self.W(u))) / 2)
        return h, (h,)


def test_a_cell_of_ones_own_has_strips_but_no_walk(look_at, monkeypatch) -> None:
    monkeypatch.setitem(CELLS, "leaky", Leaky)
    monkeypatch.setitem(MODELS, "variant", ("classify", "leaky", {}))
    page = look_at(*make("variant"), step=6)
    expect(page.locator("[data-kind=hidden_state] canvas")).to_have_count(1)
    assert page.get_by_text("The equations of leaky are not known to this page.").is_visible()
    page.locator(".view .scroll").first.focus()
    page.keyboard.press("ArrowLeft")
    assert "step=5" in page.url


def test_a_saved_page_has_all_layers(run_of, page, tmp_path) -> None:
    path = tmp_path / "seen.html"
    path.write_text(saved_page(open_subject(run_of("bilstm")), TEXTS["bilstm"]), encoding="utf-8")
    page.goto(f"file://{path}#view=unrolled&step=2")
    settle(page)
    page.locator("#layer").select_option("encoder 1 backwards")
    settle(page)
    assert page.get_by_text("time runs from right to left").is_visible()
    page.goto(f"file://{path}#view=gradients")
    settle(page)
    expect(page.locator("figure[data-cell]")).to_have_count(5)
    assert page.locator("#reads").is_disabled()
