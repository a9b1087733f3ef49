"""Names and their counts in each part: labels that are one and the same, that are rare, and shares
that differ between parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from unspool.data.check.report import Finding, PartReport
from unspool.data.fields.label import shown_alike, spelled_alike

RARE = 10  # rows of a class
DRIFT = 0.05  # total variation: this share of a part would need another label to match train
CHANCE = 0.001  # a difference that is less probable than this is no chance


def about_names(parts: list[PartReport]) -> Iterator[Finding]:
    """Labels that differ only in spelling; labels that few rows have."""
    counts: dict[str, int] = {}
    for part in parts:
        for name, count in part.labels.items():
            counts[name] = counts.get(name, 0) + count
    if alike := spelled_alike(counts):
        yield Finding(
            "label-spelling",
            f"labels differ only in spelling: {shown_alike(alike)}",
            sum(map(len, alike)),
            remedy="write each label in one way",
        )
    rare = sorted((count, name) for name, count in counts.items() if 0 < count < RARE)
    if rare:
        listed = ", ".join(f"{name!r} {count}" for count, name in rare[:5])
        more = ", ..." if len(rare) > 5 else ""
        yield Finding(
            "rare-label",
            f"labels have fewer than {RARE} rows: {listed}{more}",
            len(rare),
            remedy="add rows, or join them with another label",
        )


def about_drift(parts: list[PartReport]) -> Iterator[Finding]:
    """Parts whose labels are distributed otherwise than those of train, by more than chance."""
    train = next((part for part in parts if part.name == "train" and part.labels), None)
    for part in parts if train is not None else []:
        if part is train or not sum(part.labels.values()):
            continue
        assert train is not None
        distance = total_variation(train.labels, part.labels)
        if distance < DRIFT or chance_of(train.labels, part.labels) > CHANCE:
            continue
        name = most_changed(train.labels, part.labels)
        before, after = (100 * share(own, name) for own in (train.labels, part.labels))
        yield Finding(
            "drift",
            f"part has other shares of labels than train: {100 * distance:.0f} % of {part.name}"
            f" would need another label to match; {name!r} is {before:.1f} % of train and"
            f" {after:.1f} % of {part.name}",
            1,
            remedy="split at random, or expect other scores than those of validation",
        )


def total_variation(one: Mapping[str, int], two: Mapping[str, int]) -> float:
    """½ Σ |p - q|"""
    return sum(abs(share(one, name) - share(two, name)) for name in {*one, *two}) / 2


def chance_of(one: Mapping[str, int], two: Mapping[str, int]) -> float:
    """The probability of a difference at least as large if both had the same shares (χ²)."""
    from scipy.stats import chi2_contingency

    names = [name for name in {*one, *two} if one.get(name, 0) + two.get(name, 0)]
    table = np.array([[own.get(name, 0) for name in names] for own in (one, two)])
    return float(chi2_contingency(table).pvalue)


def share(labels: Mapping[str, int], name: str) -> float:
    return labels.get(name, 0) / max(1, sum(labels.values()))


def most_changed(one: Mapping[str, int], two: Mapping[str, int]) -> str:
    return max(sorted({*one, *two}), key=lambda name: abs(share(one, name) - share(two, name)))
