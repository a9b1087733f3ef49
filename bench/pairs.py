"""Speed of fine-tuning MiniLM on pairs of texts, against BertModel of the transformers library.

    python bench/pairs.py                 bf16 and fp32, one thread
    python bench/pairs.py --rounds 2 --rows 256 --precisions bf16

A round is an epoch over the same pairs, sentences of SemEval-14 (restaurants) with their targets,
in batches of 32: batches, forward, backward, clipping and AdamW. Ours is the step of `Trainer`.
Theirs is a loop in plain torch over BertModel with a linear layer on its first vector, texts
encoded before; in random order, each batch padded to its longest text, as their Trainer does it,
and with texts of similar length together. Contestants take turns in one process; seconds are the
processor's. Without ../shared/data (or $UNSPOOL_DATA), or without the packages, it says so and
ends.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from answers import OPINION, minilm
from rows import DATA, train
from unspool.training.folder import RunFolder
from unspool.training.progress import Log, Silent
from unspool.training.trainer import Trainer

BATCH = 32
LABELS = {"-1": 0, "0": 1, "1": 2}


def pairs(count: int) -> list[tuple[str, str, str]]:
    lines = (OPINION / "Restaurants_Train.xml.seg").read_text(encoding="utf-8").splitlines()
    rows = [(lines[i], lines[i + 1], lines[i + 2]) for i in range(0, len(lines) - 2, 3)]
    return random.Random(1).sample(rows, count)


def ours(rows: list[tuple[str, str, str]], precision: str, folder: Path) -> Callable[[], None]:
    data = folder / "pairs.seg"
    data.write_text("".join("\n".join(row) + "\n" for row in rows))
    run = train(
        data, str(folder), f"run-{precision}", start=minilm(), precision=precision, batch=BATCH,
        threads=1, max_steps=1, valid_share=0.0,
    )  # fmt: skip
    trainer = Trainer(run.task, run.model, run.parts, RunFolder(run.path), Silent())
    trainer.log = Log(trainer.folder.metrics, trainer.watcher.note)
    steps = trainer.batches.steps(0)

    def epoch() -> None:
        for _ in range(steps):
            trainer._step()

    return epoch


class Classifier(nn.Module):
    def __init__(self, bert: Any) -> None:
        super().__init__()
        self.bert, self.output = bert, nn.Linear(bert.config.hidden_size, len(LABELS))

    def forward(self, **inputs: Any) -> torch.Tensor:
        return self.output(self.bert(**inputs).last_hidden_state[:, 0])


def theirs(rows: list[tuple[str, str, str]], precision: str, grouped: bool) -> Callable[[], None]:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm())
    model = Classifier(transformers.BertModel.from_pretrained(minilm())).train()
    encoded = [tokenizer(text, target) for text, target, _ in rows]
    labels = torch.tensor([LABELS[label] for *_, label in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    rng = random.Random(2)

    def epoch() -> None:
        order = rng.sample(range(len(rows)), len(rows))
        if grouped:
            order.sort(key=lambda row: len(encoded[row]["input_ids"]))
        batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        rng.shuffle(batches)
        for batch in batches:
            inputs = tokenizer.pad([encoded[row] for row in batch], return_tensors="pt")
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                scores = model(**inputs)
            loss = nn.functional.cross_entropy(scores.float(), labels[batch])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return epoch


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precisions", default="bf16,fp32")
    options = parser.parse_args()
    if not DATA.exists():
        print(f"skipped: no development data at {DATA}", file=sys.stderr)
        return 0
    torch.set_num_threads(1)
    rows = pairs(options.rows)
    for precision in options.precisions.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            contestants = {
                "transformers, random order": theirs(rows, precision, grouped=False),
                "transformers, similar lengths": theirs(rows, precision, grouped=True),
                "unspool": ours(rows, precision, Path(scratch)),
            }
            seconds: dict[str, list[float]] = {name: [] for name in contestants}
            for turn in range(options.rounds + 1):  # the first is not counted
                for name, epoch in contestants.items():
                    began = time.process_time()
                    epoch()
                    if turn:
                        seconds[name].append(time.process_time() - began)
        own = statistics.median(seconds["unspool"])
        for name, found in seconds.items():
            middle = statistics.median(found)
            figures = {
                "precision": precision,
                "who": name,
                "pairs a second": round(len(rows) / middle, 1),
                "unspool is faster": round(middle / own, 2),
            }
            print(json.dumps(figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
