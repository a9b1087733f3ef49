"""The training view: its curves against the log, by keyboard, and live."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from expecting import expect
from page_runs import settle

from unspool.api.run import load
from unspool.io.files import unlist_hash
from unspool.page.answers import is_running, read_log, thinned
from unspool.page.subject import open_subject


def readouts(page) -> list[str]:
    return page.locator(".readout").all_inner_texts()


def test_the_numbers_are_those_of_the_log(look, run_of) -> None:
    log = load(run_of("bilstm")).metrics()
    page = look("bilstm", view="training")
    validated = [record for record in log if "valid_accuracy" in record]
    best = [record for record in validated if record["best"]][-1]
    shown = page.get_by_role("status").inner_text()
    assert shown.startswith(f"Trained for {log[-1]['step']} steps.")
    assert f"after epoch {best['epoch']}, step {best['step']}" in shown
    expect(page.locator("svg text", has_text=f"best: epoch {best['epoch']}")).to_have_count(2)
    accuracy = page.get_by_role("slider", name="accuracy on the validation data")
    accuracy.focus()
    for key, record in (("Home", validated[0]), ("ArrowRight", validated[1]),
                        ("End", validated[-1]), ("ArrowLeft", validated[-2])):  # fmt: skip
        page.keyboard.press(key)
        step, value = readouts(page)[1].removeprefix("step ").split(": accuracy ")
        assert int(step) == record["step"]
        assert float(value) == pytest.approx(record["valid_accuracy"], rel=1e-3)
        assert accuracy.get_attribute("aria-valuetext") == readouts(page)[1]


def test_by_mouse(look, run_of) -> None:
    page = look("bilstm", view="training")
    box = page.get_by_role("slider", name="Loss").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 80)
    first = readouts(page)[0]
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 80)
    assert first.startswith("step ")
    assert readouts(page)[0] != first


def test_the_table(look, run_of) -> None:
    log = [r for r in load(run_of("bilstm")).metrics() if "valid_loss" in r]
    page = look("bilstm", view="training")
    page.get_by_text(f"All {len(log)} validations in numbers").click()
    rows = page.locator("tbody tr").all_inner_texts()
    assert len(rows) == len(log)
    assert sum(row.endswith("best") for row in rows) == 1


@pytest.fixture
def young(run_of, tmp_path) -> Path:
    """A run in the middle of its training."""
    run = Path(shutil.copytree(run_of("bilstm"), tmp_path / "young"))
    unlist_hash(run / "metrics.jsonl")
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "README.md").unlink()
    (run / "rest.jsonl").write_text("".join(lines[4:]))
    (run / "metrics.jsonl").write_text("".join(lines[:4]))
    return run


def test_live(young, serve, page, shot) -> None:
    page.goto(serve(open_subject(young)).address(view="training"))
    settle(page)
    assert page.get_by_role("status").inner_text().startswith("Training now: ")
    page.get_by_role("slider", name="Loss").focus()
    shot(page, "training-live")
    with open(young / "metrics.jsonl", "a") as log:
        log.write((young / "rest.jsonl").read_text())
    steps = read_log(young / "metrics.jsonl")[-1]["step"]
    page.get_by_role("status").get_by_text(f"step {steps}").wait_for()
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("Loss over the steps")
    (young / "README.md").write_text("the end")
    page.get_by_role("status").get_by_text(f"Trained for {steps} steps.").wait_for()


def test_whether_it_is_running(young) -> None:
    log = young / "metrics.jsonl"
    assert is_running(young, log)
    old = log.stat().st_mtime - 3600
    os.utime(log, (old, old))  # killed an hour ago
    assert not is_running(young, log)
    assert not is_running(young, young / "none.jsonl")


def test_a_line_that_is_half_written(young) -> None:
    whole = read_log(young / "metrics.jsonl")
    with open(young / "metrics.jsonl", "a") as log:
        log.write('{"step": 12, "lo')
    assert read_log(young / "metrics.jsonl") == whole
    assert read_log(young / "none.jsonl") == []


def test_a_long_log_is_thinned() -> None:
    records = [
        {"step": i, "best": True} if i % 1000 == 999 else {"step": i, "loss": 1.0}
        for i in range(50_000)
    ]
    kept = thinned(records, 2000)
    assert len(kept) <= 2000
    assert [r for r in kept if "best" in r] == [r for r in records if "best" in r]
    assert kept == sorted(kept, key=lambda r: r["step"])
    assert records[-2] in kept
    assert thinned(records[:100], 2000) == records[:100]


def test_a_run_without_a_validation(run_of, serve, page, tmp_path) -> None:
    run = Path(shutil.copytree(run_of("bilstm"), tmp_path / "plain"))
    records = [r for r in load(run).metrics() if "loss" in r]
    unlist_hash(run / "metrics.jsonl")
    (run / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    (run / "README.md").touch()
    page.goto(serve(open_subject(run)).address(view="training"))
    settle(page)
    expect(page.get_by_role("slider")).to_have_count(1)
    assert page.get_by_role("status").inner_text() == f"Trained for {records[-1]['step']} steps."
