"""Opinions about four products: their targets, their polarity, a table.

Generated reviews in which one sentence praises one thing and complains of another. `tag` learns to
find the targets, `classify` the polarity towards one of them, which it reads as a second text.
Both then read new reviews, in which a fifth of the targets are words that training did not have.
"""

from __future__ import annotations

import csv
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unspool.api.run import Run
from unspool.api.train import train
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

PRODUCTS = {
    "laptop": ["screen", "battery life", "keyboard", "touch pad", "fan", "hinge"],
    "kettle": ["lid", "handle", "heating plate", "spout", "water filter", "switch"],
    "headphones": ["sound", "ear cushion", "microphone", "cable", "carrying case", "bass"],
    "bicycle": ["saddle", "brake", "gear shift", "frame", "front light", "pedal"],
}
UNSEEN = {"hinge", "water filter", "carrying case", "front light"}  # only in new reviews
GOOD = ["great", "lovely", "solid", "excellent", "a delight", "well made", "superb", "a joy"]
BAD = ["poor", "flimsy", "awful", "a letdown", "badly made", "useless", "a nuisance", "dreadful"]
CLAUSES = {
    "positive": [
        "the {t} is {good}", "i love the {t}", "the {t} is not {bad} at all",
        "i feared the {t} would be {bad} , and it is {good}", "nobody can complain about the {t}",
    ],
    "negative": [
        "the {t} is {bad}", "i regret the {t}", "the {t} is anything but {good}",
        "they say the {t} is {good} , yet it is {bad}", "nobody can praise the {t}",
    ],
    "neutral": ["it comes with a {t}", "the {t} is on the left", "there is a {t} , of course"],
}  # fmt: skip
FILLING = [
    "i bought it for my sister", "it arrived on monday", "we have used it for a month",
    "the shop packed it with care", "this is my second one",
]  # fmt: skip
JOINTS = [" , but ", " and ", " ; ", " , while "]
LABELLED, NEW = 1400, 600


class Opinion(NamedTuple):
    """A target, the characters of the review where it stands, and what is said about it."""

    target: str
    start: int
    end: int
    polarity: str


class Review(NamedTuple):
    product: str
    text: str
    opinions: list[Opinion]


def reviews(count: int, seed: int, *, unseen: bool) -> list[Review]:
    """Each product is good at some things and bad at others, whoever writes. `unseen`: a fifth of
    the targets are of the held-out ones."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        product = rng.choice(list(PRODUCTS))
        known = [target for target in PRODUCTS[product] if target not in UNSEEN]
        targets = rng.sample(known, rng.choice([1, 2, 2, 3]))
        if unseen and rng.random() < 0.4:
            targets[0] = next(target for target in PRODUCTS[product] if target in UNSEEN)
        made.append(review(product, targets, rng))
    return made


def review(product: str, targets: Sequence[str], rng: random.Random) -> Review:
    text, opinions = "", []
    if rng.random() < 0.5:
        text = rng.choice(FILLING) + " . "
    for i, target in enumerate(targets):
        text += rng.choice(JOINTS) if i else ""
        quality = quality_of(product, target)
        polarity = rng.choices(["positive", "negative", "neutral"], [quality, 0.85 - quality, 0.15])
        before, after = rng.choice(CLAUSES[polarity[0]]).split("{t}")
        words = {"good": rng.choice(GOOD), "bad": rng.choice(BAD)}
        text += before.format(**words)
        opinions.append(Opinion(target, len(text), len(text) + len(target), polarity[0]))
        text += target + after.format(**words)
    return Review(product, text, opinions)


def quality_of(product: str, target: str) -> float:
    """Share of praise for a thing: a few are loved, a few hated."""
    return (0.75, 0.1, 0.45)[PRODUCTS[product].index(target) % 3]


def marked(text: str, start: int, end: int) -> str:
    """The text with $T$ where its target stands, so that it is known which one is meant."""
    return f"{text[:start]}$T${text[end:]}"


def write_spans(path: Path, reviews: Iterable[Review]) -> None:
    """For `tag`: texts with the spans of their targets."""
    with open(path, "w", encoding="utf-8") as file:
        for review in reviews:
            spans = [{"start": o.start, "end": o.end, "label": "TARGET"} for o in review.opinions]
            file.write(json.dumps({"text": review.text, "spans": spans}) + "\n")


def write_pairs(path: Path, reviews: Iterable[Review]) -> None:
    """For `classify`: a text, its target, the polarity."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "target", "polarity"])
        for review in reviews:
            rows.writerows([marked(review.text, o.start, o.end), o.target, o.polarity]
                           for o in review.opinions)  # fmt: skip


class DetectedOpinion(NamedTuple):
    """An opinion that the two models have found in a review."""

    product: str
    target: str
    polarity: str
    probability: float
    text: str
    start: int
    right: bool  # whether the target stands there and the polarity is the writer's


def find_opinions(targets: Run, polarity: Run, new: Sequence[Review]) -> list[DetectedOpinion]:
    """First the targets of all reviews, then the polarity towards each."""
    spans = [
        (review, span)
        for review, answer in zip(new, targets.predict([review.text for review in new]))
        for span in answer.spans
    ]
    pairs = [(marked(review.text, span.start, span.end), span.text) for review, span in spans]
    opinions = []
    for (review, span), answer in zip(spans, polarity.predict(pairs)):
        written = {(o.start, o.end): o.polarity for o in review.opinions}
        right = written.get((span.start, span.end)) == answer.label
        probability = answer.probabilities[answer.label]
        opinions.append(
            DetectedOpinion(
                review.product, span.text, answer.label, probability, review.text, span.start, right
            )
        )
    return opinions


def table(opinions: Sequence[DetectedOpinion], *, fewest: int = 3) -> list[str]:
    """A line a product and target: counts, the share of praise, the surest example."""
    groups: dict[tuple[str, str], list[DetectedOpinion]] = defaultdict(list)
    for opinion in opinions:
        groups[opinion.product, opinion.target].append(opinion)
    lines = [f"{'product':<11} {'target':<14} {'good':>5} {'bad':>5} {'neither':>8}  for example"]
    for (product, target), group in sorted(groups.items()):
        if len(group) >= fewest:
            counts = Counter(opinion.polarity for opinion in group)
            usual = counts.most_common(1)[0][0]
            surest = max((opinion for opinion in group if opinion.polarity == usual),
                         key=lambda opinion: opinion.probability)  # fmt: skip
            lines.append(
                f"{product:<11} {target:<14} {counts['positive']:>5} {counts['negative']:>5}"
                f" {counts['neutral']:>8}  {around(surest)}"
            )
    rare = sum(len(group) for group in groups.values() if len(group) < fewest)
    return [*lines, *([f"({rare} more opinions, on rarer targets)"] if rare else [])]


def around(opinion: DetectedOpinion, width: int = 56) -> str:
    """The part of a review in which its target stands."""
    first = max(0, min(opinion.start - width // 2, len(opinion.text) - width))
    shown = opinion.text[first : first + width]
    return "…" * (first > 0) + shown + "…" * (first + width < len(opinion.text))


def write_table(path: Path, opinions: Sequence[DetectedOpinion]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["product", "target", "polarity", "probability", "text"])
        rows.writerows([*o[:3], f"{o.probability:.4f}", o.text] for o in opinions)


def run(
    write: Callable[[str], None], *, labelled: int = LABELLED, new: int = NEW, epochs: int = 5
) -> None:
    from rich.console import Console

    known = reviews(labelled, 1, unseen=False)
    unlabelled = reviews(new, 2, unseen=True)
    settings: dict[str, Any] = {
        "model": "bilstm", "hidden": 48, "embedding": 48, "epochs": epochs, "lr": 5e-3,
        "note": write, "watcher": Printed(Console(stderr=True)), "word_dropout": 0.1,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        spans, pairs = Path(scratch) / "targets.jsonl", Path(scratch) / "polarity.csv"
        write_spans(spans, known)
        write_pairs(pairs, known)
        write(f"{labelled:,} reviews of four products. What is an opinion about?")
        write("")
        targets = train(spans, task="tag", out=free_folder("demo", "targets"), **settings)
        write("")
        write("And is it praised?")
        write("")
        polarity = train(
            pairs, task="classify", out=free_folder("demo", "polarity"), text="text",
            text_pair="target", label="polarity", baseline=False, **settings,
        )  # fmt: skip
    opinions = find_opinions(targets, polarity, unlabelled)
    write("")
    write(f"{new:,} new reviews, a fifth of the targets never seen before:")
    write("")
    for line in table(opinions):
        write(line)
    written = [opinion for item in unlabelled for opinion in item.opinions]
    right = sum(item.right for item in opinions)
    write("")
    write(
        f"{len(opinions):,} opinions found, of which {right:,} are right in target and polarity, of"
        f" {len(written):,} that were written: F1 {2 * right / (len(opinions) + len(written)):.4f}"
    )
    out = polarity.path / "opinions.csv"
    write_table(out, opinions)
    write(f"all of them: {out}")
    write("")
    write("Next:")
    write(f'  unspool predict {targets.path} "the zip is dreadful , but i love the pockets"')
    write(f"  unspool look {polarity.path} 'i love the screen and regret the $T$ ||| battery life'")
    write(f"  unspool serve {targets.path}   over HTTP, with a page at localhost:8000")
    write("  unspool topics FILE                       what other reviews are about")
