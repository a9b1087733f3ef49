"""Random mixes of requests to the process of a model: batched, each is answered as alone.

    python tests/conformance/serve_mixes.py [--mixes 10000] [--seed 1] [--only TASK]

A mix is two to six requests of one to four inputs each (predictions with options, predictions by
the Open Inference Protocol, vectors) that arrive together. Labels and tokens must be the same as
in the answer to the input alone, numbers within 1e-5. All tasks, networks and kinds of input take
turns. A mismatch is an error that names the case and the seed of the mix.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from every_model import CASES, Case, make

from unspool.serve import frames
from unspool.serve.engine import Engine, EngineSettings
from unspool.serve.frames import ReplyReader
from unspool.serve.loading import Loaded
from unspool.serve.settings import ServeLimits
from unspool.serve.streams import Sessions
from unspool.serve.vectors import vectors_unsupported_reason
from unspool.serve.work import ServedModel
from unspool.training.folder import RunFolder

TOLERANCE = 1e-5


class ModelUnderTest:
    """The process of a model without the process."""

    def __init__(self, case: Case, folder: Path) -> None:
        task, model, _ = self.made = make(case, folder)
        limits = ServeLimits(batch_items=16)
        self.reader, self.replies = ReplyReader(), dict[int, Any]()
        self.served = ServedModel("m", RunFolder(folder), task, model, limits)
        settings = EngineSettings("m", "", 1, "cpu", "fp32", None, 0.0, (), True, "1.0", limits)
        loaded = Loaded(self.served, Sessions(self.served), None, {})
        self.engine = Engine(self, settings, loaded)  # type: ignore[arg-type]
        self.number = 100
        self.items = [self.as_json(item) for item in self.made.items()]
        self.has_vectors = vectors_unsupported_reason(task, model) is None
        self.alone: dict[tuple[int, int], Any] = {}

    def as_json(self, item: Any) -> Any:
        form = self.made.task.input_field.form
        return item if isinstance(item, str) else json.loads(json.dumps(form.to_json(item)))

    def sendall(self, data: bytes) -> None:
        """Take what the process would send."""
        for reply in self.reader.feed(data):
            self.replies[reply.id] = reply

    def operations(self) -> list[int]:
        answers = self.made.task.answer is not None
        return [frames.PREDICT, frames.INFER] * answers + [frames.EMBED] * self.has_vectors

    def body(self, operation: int, items: list[Any]) -> bytes:
        if operation == frames.PREDICT:
            value: Any = {"items": items}
        elif operation == frames.EMBED:
            value = {"input": items}
        else:
            texts = [i if self.made.task.reads_tokens else json.dumps(i) for i in items]
            tensor = {"name": "x", "shape": [len(texts)], "datatype": "BYTES", "data": texts}
            value = {"inputs": [tensor]}
        return json.dumps(value).encode()

    def ask(self, requests: list[tuple[int, list[int]]]) -> list[list[Any]]:
        """The answers to requests that arrive together: (operation, numbers of items)."""
        ids = []
        for operation, numbers in requests:
            self.number += 1
            ids.append(self.number)
            body = self.body(operation, [self.items[n] for n in numbers])
            self.engine.take(frames.RequestFrame(self.number, operation, "", body))
        while not self.replies.keys() >= set(ids):
            self.engine.compute(self.engine.next_batch())
        return [
            self.answers(operation, self.replies.pop(id))
            for id, (operation, _) in zip(ids, requests)
        ]

    def answers(self, operation: int, reply: Any) -> list[Any]:
        value = json.loads(reply.content)
        if reply.status != 200:
            assert reply.status != 500, value
            return [value]
        if operation == frames.PREDICT:
            return value["answers"]
        if operation == frames.EMBED:
            return [each["embedding"] for each in value["data"]]
        return [json.loads(text) for text in value["outputs"][0]["data"]]

    def answer_alone(self, operation: int, number: int) -> Any:
        key = operation, number
        if key not in self.alone:
            (self.alone[key],) = self.ask([(operation, [number])])[0]
        return self.alone[key]

    def usable(self) -> list[int]:
        """Items that the model answers, not those that it refuses."""
        operation = self.operations()[0]
        answers = ((n, self.answer_alone(operation, n)) for n in range(len(self.items)))
        return [n for n, a in answers if not (isinstance(a, dict) and "detail" in a)]


def same(one: Any, other: Any) -> bool:
    if isinstance(other, dict):
        return isinstance(one, dict) and one.keys() == other.keys() and all(
            same(one[name], other[name]) for name in other
        )  # fmt: skip
    if isinstance(other, list):
        return isinstance(one, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(other, float) and isinstance(one, int | float):
        return abs(one - other) <= TOLERANCE * max(1.0, abs(other))
    return bool(one == other)


def check_mixes(case: Case, folder: Path, count: int, seed: int) -> int:
    """Check so many mixes of a case; returns how many requests they had."""
    model = ModelUnderTest(case, folder)
    requests_made = 0
    if not model.operations():
        return 0
    usable = model.usable()
    assert usable, f"{case}: no item is answered"
    for number in range(count):
        rng = random.Random(f"{seed}/{case}/{number}")
        requests = [
            (rng.choice(model.operations()), rng.choices(usable, k=rng.randint(1, 4)))
            for _ in range(rng.randint(2, 6))
        ]
        for (operation, numbers), answers in zip(requests, model.ask(requests)):
            expected = [model.answer_alone(operation, n) for n in numbers]
            assert same(answers, expected), f"mix {number}, seed {seed}: {answers} != {expected}"
        requests_made += len(requests)
    return requests_made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cases = [case for case in CASES if str(case).startswith(options.only)]
    each = -(-options.mixes // len(cases))
    done, began = Counter(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            try:
                requests = check_mixes(case, Path(folder), each, options.seed)
            except AssertionError as error:
                print(f"{case}: {error}"[:1000], file=sys.stderr)
                done["failed"] += 1
                continue
            done["requests"] += requests
            done["mixes"] += each * (requests > 0)
            done["cases"] += requests > 0
    seconds = time.monotonic() - began
    if done["failed"]:
        sys.exit(f"{done['failed']} cases failed")
    print(f"{done['mixes']:,} mixes of {done['requests']:,} requests to {done['cases']} models:"
          f" all answers as alone; {seconds:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
