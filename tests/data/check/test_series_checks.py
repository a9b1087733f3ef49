"""What `check` finds in series."""

from __future__ import annotations

import numpy as np
import pytest

import unspool


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = np.random.default_rng(2)
    rows = ["id,time,x,z,label,subject"]
    for i in range(24):
        own = rng.normal(3 * (i % 2), 1, (8, 2)).round(3)
        if i == 3:
            own[2, 0] = 900
        if i == 4:
            own[:, 1] = 1.5
        kept = i if i != 7 else 5  # the same recording twice
        if i in (5, 7):
            own = np.random.default_rng(kept).normal(size=(8, 2)).round(3)
        label = "odd" if i in (10, 12) else "ab"[i % 2]
        subject = "s9" if i in (10, 12) else f"s{i % 3}"
        for t, (x, z) in enumerate(own):
            shown = "" if i == 6 and t == 4 else f"{x}"
            rows.append(f"r{i},{t},{shown},{z},{label},{subject}")
    path = tmp_path_factory.mktemp("checked") / "steps.csv"
    path.write_text("\n".join(rows) + "\n")
    return unspool.check(path, group="subject", task="classify")


def found(report, kind: str):
    return next(own for own in report.findings if own.kind == kind)


@pytest.mark.parametrize(
    ("kind", "what", "shown"),
    [
        ("gaps", "recordings have gaps", "1 gaps, the first at step 5 of x"),
        ("flat", "have a channel that never changes", "z = 1.5"),
        ("spikes", "standard deviations from the median", "step 3 of x: 900"),
    ],
)
def test_flaws_are_found_where_they_are(report, kind, what, shown) -> None:
    own = found(report, kind)
    assert own.count == 1
    assert what in own.what
    assert own.examples[0].shown == shown
    assert "steps.csv:" in own.examples[0].where


def test_the_same_recording_twice(report) -> None:
    kinds = {own.kind for own in report.findings if "series" in own.what or "same" in own.what}
    assert kinds & {"repeated", "duplicate", "leak", "duplicates"}, report.findings


def test_a_label_of_one_group(report) -> None:
    assert "odd (s9)" in found(report, "label-of-one-group").what


def test_it_says_steps_and_no_unknown_tokens(report) -> None:
    text = str(report)
    assert "length in steps" in text
    assert "unknown to train" not in text
    assert "time: equal steps of 1" in text
    assert report.to_html()


def test_series_that_are_to_be_continued(tmp_path) -> None:
    """They have no labels: their steps, lengths, gaps, spikes and repetitions are looked at."""
    rng = np.random.default_rng(1)
    lines = ["id,date,load"]
    for i in range(4):
        own = np.random.default_rng(2 if i in (1, 3) else i + 5).normal(size=60).round(3)
        if i == 2:
            own[30] = 700
        shown = [f"{x}" for x in own]
        if not i:
            shown[int(rng.integers(60))] = ""
        lines += [f"r{i},2024-01-01 {t // 60:02}:{t % 60:02}:00,{x}" for t, x in enumerate(shown)]
    path = tmp_path / "loads.csv"
    path.write_text("\n".join(lines) + "\n")
    report = unspool.check(path)
    assert report.task == "forecast"
    said = repr(report)
    assert "1 channel (load), 240 steps in train, from 60 to 60 a series" in said
    assert "time: equal steps of 60 s" in said
    assert "1 gaps in 1 channel" in said
    assert [own.kind for own in report.findings] == ["repeated", "gaps", "spikes"]
    assert not report.suggestions
