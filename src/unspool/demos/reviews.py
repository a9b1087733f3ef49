"""Restaurant reviews whose words do not give them away: only their order does.

"the food was good , not bad at all" is praise and "the food was bad , not good at all" is not, with
the very same words. A generated corpus of such sentences, a BiLSTM, a held-out test.
"""

from __future__ import annotations

import csv
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from unspool.api.train import train
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

THINGS = [
    "food",
    "soup",
    "service",
    "wine",
    "bread",
    "dessert",
    "coffee",
    "waiter",
    "view",
    "music",
]
GOOD = ["good", "great", "lovely", "excellent", "fresh", "charming", "delicious", "warm"]
BAD = ["bad", "poor", "awful", "terrible", "stale", "rude", "bland", "cold"]
OPENINGS = ["", "honestly , ", "last night ", "we came late , but ", "as always , ", "i must say "]
FORMS = [
    ("the {thing} was {x} , not {y} at all", True),
    ("the {thing} was not {y} at all , it was {x}", True),
    ("nobody could call the {thing} {y} ; {x} is the word", True),
    ("i feared the {thing} would be {y} but it was {x}", True),
    ("they say the {thing} is {y} , which is wrong : it is {x}", True),
    ("i hoped the {thing} would be {x} , and it was", True),
    ("the {thing} was never {x} , only {y}", False),
    ("i hoped the {thing} would be {x} but it was {y}", False),
]


def reviews(count: int, seed: int) -> list[tuple[str, str]]:
    """`count` pairs of (sentence, praise or complaint), every sentence a different one."""
    rng = random.Random(seed)
    sentences: dict[str, str] = {}
    while len(sentences) < count:
        form, keeps = rng.choice(FORMS)
        praise = rng.random() < 0.5
        x, y = rng.choice(GOOD), rng.choice(BAD)
        if not praise:
            x, y = y, x
        sentence = rng.choice(OPENINGS) + form.format(thing=rng.choice(THINGS), x=x, y=y)
        sentences[sentence] = "praise" if praise == keeps else "complaint"
    return list(sentences.items())


def write_csv(path: Path, rows: list[tuple[str, str]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "opinion"])
        writer.writerows(rows)


def run(write: Callable[[str], None]) -> None:
    from rich.console import Console

    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "reviews.csv"
        write_csv(data, reviews(3000, seed=1))
        write("Three thousand restaurant reviews that no single word tells apart, and a BiLSTM:")
        write("")
        result = train(
            data,
            model="bilstm",
            out=free_folder("demo", "reviews"),
            note=write,
            watcher=Printed(Console(stderr=True)),
            hidden=32,
            embedding=32,
            epochs=6,
            test_share=0.1,
            lr=5e-3,
        )
    write("")
    for line in result.report.lines() if result.report else []:
        write(line)
    write("")
    questions = [
        "the food was good , not bad at all",
        "the food was bad , not good at all",
        "i hoped the wine would be lovely but it was cold",
    ]
    for answer in result.predict(questions):
        write(f"{answer.label:<10} {answer.probabilities[answer.label]:6.1%}   {answer.text}")
    write("")
    write("Next:")
    write(f'  unspool predict {result.path} "the soup was not bland at all , it was great"')
    write(f"  unspool serve {result.path}          over HTTP, with a page at localhost:8000")
    write(f"  unspool summary {result.path}")
    write("  unspool demo hello                        the smallest language model there is")
    write("  unspool check FILE ; unspool train FILE   your own CSV, JSONL or text")
