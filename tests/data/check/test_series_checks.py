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


def test_series_to_be_forecast(tmp_path) -> None:
    """Their parts are stretches of the same series, which are not compared with each other."""
    rng = np.random.default_rng(1)
    rows = ["date,sales,holiday"]
    for i, value in enumerate(20 + rng.normal(0, 1, 84)):
        shown = "" if i == 9 else f"{9e6 if i == 20 else value:.2f}"
        rows.append(f"{np.datetime64('2024-01-01') + i},{shown},{int(i % 7 == 6)}")
    path = tmp_path / "sales.csv"
    path.write_text("\n".join(rows) + "\n")
    report = unspool.check(path, known="holiday")
    assert report.task == "forecast"
    assert [own.kind for own in report.findings] == ["gaps", "spikes"]
    assert "train: 1 targets, 76 steps" in str(report)
    assert "doubtful" not in str(report)


def test_columns_beside_series_may_change_within_a_recording(tmp_path) -> None:
    rows = [
        f"{shop},2024-01-{day:02},{shop * 10 + day % 4},{'yes' if day == 1 else 'no'},EUR"
        for shop in (1, 2, 3)
        for day in range(1, 31)
    ]
    path = tmp_path / "a.csv"
    path.write_text("shop,date,sales,holiday,currency\n" + "\n".join(rows) + "\n")
    found = unspool.check(path)
    columns = [own for own in found.findings if own.kind == "constant-column"]
    assert [own.what for own in columns] == ["columns have the same value in every row: 'currency'"]


def shops(tmp_path, series: dict[str, np.ndarray], first: dict[str, int] | None = None):
    rows = ["shop,date,sales"]
    for name, values in series.items():
        day = np.datetime64("2024-01-01") + (first or {}).get(name, 0)
        rows += [f"{name},{day + i},{value:g}" for i, value in enumerate(values)]
    path = tmp_path / "shops.csv"
    path.write_text("\n".join(rows) + "\n")
    return unspool.check(path, horizon=7)


def test_the_same_series_twice_in_forecasts(tmp_path) -> None:
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(50, 9, (3, 120)).round(1)
    changed = c.copy()
    changed[[3, 70]] += 40
    few = {name: rng.permutation(np.r_[np.zeros(115), np.ones(5)]) for name in ("e", "f")}
    report = shops(
        tmp_path,
        {"a": a, "b": b, "copy": a, "later": b[40:100], "c": c, "changed": changed, **few},
        {"later": 300},
    )
    own = {each.kind: each for each in report.findings if each.kind.endswith("-series")}
    assert {kind: each.count for kind, each in own.items()} == {
        "same-series": 1, "part-series": 1, "near-series": 1,
    }  # fmt: skip
    same, part, near = (own[f"{kind}-series"].examples[0] for kind in ("same", "part", "near"))
    assert (same.where, same.shown) == (f"{tmp_path}/shops.csv:242", "copy: 120 steps")
    assert same.note == f"as {tmp_path}/shops.csv:2"
    assert part.shown == "later: 60 steps"
    assert part.note == f"from step 41 on of {tmp_path}/shops.csv:122"
    assert near.shown == "changed: 120 steps"
    assert near.note == f"98.3 % as {tmp_path}/shops.csv:422"


def test_columns_with_the_same_numbers(tmp_path) -> None:
    x = np.random.default_rng(4).normal(size=90).cumsum().round(2)
    other = np.random.default_rng(5).normal(size=90).cumsum().round(2)
    days = np.datetime64("2024-01-01") + np.arange(90)
    rows = [f"{day},{v},{w},{v}" for day, v, w in zip(days, x, other)]
    path = tmp_path / "wide.csv"
    path.write_text("date,north,south,west\n" + "\n".join(rows) + "\n")
    report = unspool.check(path, task="forecast", horizon=7)
    own = [each for each in report.findings if each.kind.endswith("-series")]
    assert [(each.kind, each.count) for each in own] == [("same-series", 1)]
    assert own[0].examples[0].note.startswith("west as north of ")


def test_stretches_are_those_of_brute_force() -> None:
    """Small numbers, which agree by chance often, and blocks of hashes that are cut anywhere."""
    from unspool.data.check import tracks

    rng = np.random.default_rng(6)
    for _ in range(40):
        keys = [rng.integers(0, 2, rng.integers(1, 40)).astype(np.int32) for _ in range(12)]
        keys[3] = keys[2][2 : 2 + max(tracks.PIECE, len(keys[2]) // 2)]
        keys = list({own.tobytes(): own for own in keys}.values())
        wanted = set()
        for i, own in enumerate(keys):
            for j, other in enumerate(keys):
                spots = range(len(other) - len(own) + 1)
                inside = any((other[k : k + len(own)] == own).all() for k in spots)
                if i != j and len(own) >= tracks.PIECE and inside:
                    wanted.add(i)
        found = tracks.stretches(keys)
        assert {own for own, _, _ in found} == wanted
        for own, other, first in found:
            assert (keys[other][first : first + len(keys[own])] == keys[own]).all()


def test_hashes_of_pieces_do_not_depend_on_blocks(monkeypatch) -> None:
    from unspool.data.check import tracks

    keys = np.random.default_rng(7).integers(0, 9, 200).astype(np.int32)
    whole = tracks.piece_hashes(keys)
    monkeypatch.setattr(tracks, "BLOCK", 33)
    assert (tracks.piece_hashes(keys) == whole).all()
    assert len(set(whole[: 200 - tracks.PIECE + 1].tolist())) > 150


def recordings(folder, arrays: list[np.ndarray]):
    """A file of steps a recording, in two class folders."""
    for i, values in enumerate(arrays):
        path = folder / "ab"[i % 2] / f"{i}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n" + "\n".join(f"{value:.6g}" for value in values) + "\n")
    report = unspool.check(folder, suspects=False)
    return {finding.kind: finding.count for finding in report.findings}


def test_quiet_recordings_of_other_lengths_are_not_copies(tmp_path) -> None:
    """Differences below 1 % of the deviation of all recordings are still differences."""
    rng = np.random.default_rng(5)
    loud = [1e5 * rng.normal(size=60) for _ in range(4)]
    quiet = [rng.normal(size=size) for size in (300, 300, 620, 620, 160, 170)]
    flat = [np.full(size, float(size)) for size in (64, 80, 96)]
    blips = [np.r_[np.zeros(size), 1.0, np.zeros(40)] for size in (20, 90)]
    kinds = recordings(tmp_path, [*loud, *quiet, *flat, *blips])
    assert not [kind for kind in kinds if kind.startswith(("near", "repeat", "leak"))]


def test_a_recording_with_a_few_changed_steps_is_a_near_copy(tmp_path) -> None:
    rng = np.random.default_rng(6)
    arrays = [rng.normal(size=320) for _ in range(8)]
    changed = arrays[0].copy()
    changed[[5, 200]] += 1
    kinds = recordings(tmp_path, [*arrays, changed])
    assert kinds["near"] == 1
