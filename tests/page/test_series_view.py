"""Series on the page: their input, tracks on one axis, and the views that draw them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from asking import asked
from expecting import eventually, expect
from page_runs import settle

SLIDER = ".timeline-slider"


def tracks(page) -> list[str]:
    return page.eval_on_selector_all(".track", "all => all.map((own) => own.dataset.track)")


def valued(page) -> str:
    return page.get_attribute(SLIDER, "aria-valuetext")


def csv(steps: int, header: str = "x,y") -> str:
    rows = [f"{np.sin(t / 3):.3f},{np.cos(t / 3):.3f}" for t in range(steps)]
    return "\n".join([header, *rows] if header else rows)


def test_examples_to_choose_from(look, server_of, shot) -> None:
    page = look("moves", view="saliency")
    server = server_of("moves")
    names = page.locator("#text option").all_inner_texts()
    assert names == server.subject.input()["examples"]
    assert page.inner_text(".answer").endswith(f"The data say {server.subject.examples[0].truth}")
    page.select_option("#text", "2")
    settle(page)
    expect(page.locator(".answer")).to_contain_text(server.subject.examples[1].truth)
    assert "text=2" in page.evaluate("location.hash")
    steps = asked(server, "input", text=2)["steps"]
    assert page.get_attribute(SLIDER, "aria-valuemax") == str(len(steps) - 1)
    shot(page, "series-example")


def test_pasted_numbers(look) -> None:
    page = look("moves", view="saliency")
    page.get_by_text("Paste numbers").click()
    page.fill("#pasted", csv(30))
    page.get_by_role("button", name="Look").click()
    settle(page)
    assert page.locator("#text option:checked").inner_text() == "pasted, 30 steps"
    assert page.get_attribute(SLIDER, "aria-valuemax") == "29"
    page.reload()  # the address has it
    settle(page)
    assert page.get_attribute(SLIDER, "aria-valuemax") == "29"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3,oops\n", 'line 3, column y: no number, but “oops”. Correct it, or'),
        ("a,b,c,d\n1,2,3,4", "reads 2 channels (x, y), and line 1 has 4 columns: a, b, c"),
        ("", "there are no numbers. Give some, a step a line"),
        ("x,y\n", "there are names and no numbers"),
        ("[[1,2]", "this begins like JSON and is none"),
        ("time,x,y\nnever,1,2", "line 2: no time, but “never”. Write a number, or a date"),
        ("[[1, 2, 3]]", "the model was trained on 2 channels (x, y), and this series has 3"),
    ],
)  # fmt: skip
def test_numbers_that_are_none(look, allowed, text, message) -> None:
    allowed.append("400")
    page = look("moves", view="saliency")
    page.get_by_text("Paste numbers").click()
    page.fill("#pasted", text)
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("alert").first).to_contain_text(message)


def test_what_a_table_is_read_as(look, tmp_path: Path) -> None:
    """Named columns in any order, an id, dates, gaps; a file that is given by hand."""
    path = tmp_path / "night.csv"
    path.write_text(
        "id;date;y;label;x\na;2026-05-01 00:00;1;p;2\na;2026-05-01 01:00;;p;3\nb;2026-05-02;7;q;8\n"
    )
    page = look("moves", view="saliency")
    page.set_input_files("#file", path)
    expect(page.locator("#text")).to_have_value(re.compile(r"^\{"))
    given = json.loads(page.input_value("#text"))
    assert given == {"values": [[2, 1], [3, None]], "name": "a", "dated": True,
                     "times": [1777593600, 1777597200]}  # fmt: skip
    settle(page)
    assert "2026-05-01 00:00:00" in valued(page) or "2026-05-01 01:00:00" in valued(page)


def test_a_long_series_is_quick_and_says_what_it_draws(look, tmp_path: Path, shot) -> None:
    path = tmp_path / "long.csv"
    path.write_text(csv(2000, ""))
    page = look("moves", view="training")
    page.set_input_files("#file", path)
    expect(page.locator("#text")).to_have_value(re.compile(r"^\{"))
    page.click("#tab-unrolled")
    page.wait_for_selector(SLIDER)
    settle(page)
    expect(page.locator(".thinned")).to_contain_text("steps a pixel: curves are drawn from")
    expect(page.locator(".zoom output")).to_have_text("all 2,000 steps")
    assert "text=" not in page.evaluate("location.hash")  # too long for it
    spent = page.evaluate(
        """() => { const slider = document.querySelector('.timeline-slider');
        const start = performance.now();
        for (let i = 0; i < 5; i += 1) slider.dispatchEvent(
          new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        return (performance.now() - start) / 5; }"""
    )
    assert spent < 500  # milliseconds a key, on a machine that has much else to do
    shot(page, "series-long")
    for _ in range(2):
        page.click("#time-closer")
    expect(page.locator(".zoom output")).to_contain_text("of 2,000")
    expect(page.locator(".thinned")).to_have_text("")
    page.click("#tab-saliency")  # the series is kept
    settle(page)
    assert page.get_attribute(SLIDER, "aria-valuemax") == "1999"
    page.go_back()
    page.wait_for_selector("#tab-unrolled[aria-selected=true]")
    settle(page)
    assert page.get_attribute(SLIDER, "aria-valuemax") == "1999"


def test_gates_under_the_curves(look, server_of) -> None:
    page = look("moves", view="unrolled", step="5")
    found = asked(server_of("moves"), "steps", text=1)
    gates = [own["kind"].replace("_", " ") for own in found["arrays"]]
    unit = page.locator("#unit option:checked").inner_text()
    assert tracks(page) == ["channels", *gates, f"unit {unit}"]
    at = found["units"].index(int(unit))
    value = next(own["values"] for own in found["arrays"] if own["letter"] == "f")[4][at]
    assert f"f of unit {unit} {abs(value):.3f}" in valued(page)
    page.focus(SLIDER)
    page.keyboard.press("ArrowRight")
    assert "step 6 of" in page.inner_text(".player output")
    assert "step=6" in page.evaluate("location.hash")
    page.keyboard.press("End")
    assert valued(page).startswith(f"step {found['tokens'][-1]} ")
    page.keyboard.press("ArrowDown")
    assert page.locator("#unit option:checked").inner_text() != unit
    expect(page.locator(".walk h2")).to_contain_text(f"“{found['tokens'][-1]}”")


def test_a_click_chooses_step_and_unit(look) -> None:
    page = look("moves", view="unrolled", step="1")
    canvas = page.locator(".track[data-track='forget gate'] canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] - 10, "y": box["height"] - 3})
    steps = int(page.get_attribute(SLIDER, "aria-valuemax"))
    assert f"step={steps + 1}" in page.evaluate("location.hash")
    last = page.locator("#unit option").last.inner_text()
    assert page.locator("#unit option:checked").inner_text() == last


def test_contributions_under_the_curves(look, server_of) -> None:
    page = look("labelled", view="saliency")
    page.wait_for_selector(".track[data-track='by channel']")
    assert tracks(page) == ["channels", "data", "model", "contribution", "by channel"]
    found = asked(server_of("labelled"), "saliency", text=1)
    strongest = int(np.argmax(np.abs(found["values"])))
    number = f"{abs(found['values'][strongest]):.4f}"
    assert "contribution" in valued(page)
    assert number in valued(page)
    expect(page.locator(".view .note[role=status]")).to_contain_text("every channel at its mean")
    page.focus(SLIDER)
    page.keyboard.press("Home")
    page.click("#explain-step")
    settle(page)
    assert "step=0" in page.evaluate("location.hash")
    expect(page.locator(".choice")).to_contain_text("The label at 0 is")


def test_attention_over_time(look, server_of) -> None:
    page = look("attends", view="attention", layer="2", head="1", row="3")
    assert tracks(page) == ["channels", "weight", "every head", "all steps"]
    weights = np.array(
        asked(server_of("attends"), "weights", text=1)["kinds"][0]["layers"][1]["heads"][0]
    )
    best = int(weights[3].argmax())
    expect(page.locator(".detail")).to_contain_text(
        f"Step 0.3 looks most at {best / 10:g} ({weights[3, best]:.2f})"
    )
    page.focus(SLIDER)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".detail")).to_contain_text("Step 0.4 looks most at")
    page.select_option("#attention-head", "mean")
    expect(page.locator(".detail")).to_contain_text("on the mean of the heads")


def test_a_forecast(look, server_of, shot) -> None:
    page = look("next", view="ahead")
    page.wait_for_selector(".track[data-track=contribution]")
    found = asked(server_of("next"), "ahead", text=1)
    assert valued(page).startswith(f"step {found['steps'][48]} · the model ")
    page.focus(SLIDER)
    page.keyboard.press("End")
    assert "step=6" in page.evaluate("location.hash")
    assert page.input_value("#forecast-step") == "6"
    why = asked(server_of("next"), "reasons", text=1, step=6)
    note = page.locator(".view .note[role=status]")
    expect(note).to_contain_text(f"Start {why['start']:.3f}")
    page.locator("#forecast-step").fill("2")
    eventually(lambda: "step=2" in page.evaluate("location.hash"))
    expect(page.locator(".detail")).to_contain_text("2 of 6 steps ahead")
    page.select_option("#forecast-coverage", "0.5")
    settle(page)
    expect(page.locator(".detail")).to_contain_text("with 50 % confidence")
    assert "2 of 6 steps ahead" in page.inner_text(".detail")
    shot(page, "series-forecast")


def test_a_saved_forecast_has_some_steps(run_of, page, tmp_path: Path) -> None:
    from unspool.api.run import load

    path = tmp_path / "seen.html"
    load(run_of("next")).look(view="ahead").save(path)
    page.goto(path.as_uri())
    settle(page)
    page.wait_for_selector(".track[data-track=contribution]")
    page.select_option("#forecast-step", "4")
    expect(page.locator(".detail")).to_contain_text("4 of 6 steps ahead")


def test_many_channels_are_a_heat_map(tmp_path: Path, serve, page, shot) -> None:
    from unspool.api.train import train

    rng = np.random.default_rng(1)
    series = [rng.normal(size=(14, 12)).astype(np.float32) for _ in range(12)]
    run = train(series, ["a", "b"] * 6, model="gru", hidden=8, embedding=8, epochs=1,
                out=tmp_path / "wide")  # fmt: skip
    subject = run.subject()
    assert subject.input()["shown_as"] == "heat map"
    page.goto(serve(subject).address(view="saliency"))
    page.wait_for_selector(".track[data-track=contribution]")
    assert tracks(page)[0] == "channels"
    shot(page, "series-heat-map")
