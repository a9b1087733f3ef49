"""Subjects of e-mails (AESLC): the lead, attention, copying, copying with coverage, a Transformer.

    python bench/summaries.py FOLDER                  train what FOLDER has not yet, score all
    python bench/summaries.py FOLDER --models copy    one of them
    python bench/summaries.py FOLDER --table          print the tables from what is scored there
    python bench/summaries.py --lead                  the lead alone
    python bench/summaries.py --speed                 copying against none, in one run

14,436 e-mails to learn from, of which 1,010 are held out to choose the epoch by ROUGE-L of greedy
subjects, and with the model that copies the options of the search; the 1,960 of the dev part are
judged. Bodies are cut to their first 80 tokens. ROUGE is against the subject that was sent,
and against the best of it and three more by other people; differences are by a paired bootstrap
over the e-mails. A run that was cut off is continued. Without ../shared/data (or $UNSPOOL_DATA) it
says so and ends.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import unspool
from timing import DATA
from unspool.api.settings import make_config
from unspool.data.batching import BucketBatches
from unspool.search.decoding import Decoding
from unspool.tasks import build_model
from unspool.tasks.metrics import bootstrap_mean
from unspool.tasks.planner import open_plan
from unspool.tasks.summarize.plan import further_references
from unspool.tasks.summarize.task import Summarize, SummarizeReport, lead
from unspool.tasks.text_metrics import ROUGE_METRICS, rouge

CORPUS = DATA / "summary" / "aeslc"
PAPER = (23.67, 10.29, 23.44)  # Zhang & Tetreault (2019), test part
COMMON: dict[str, Any] = {
    "lowercase": True, "max_length": 80, "vocab": 8000, "valid_share": 0.07, "test_share": 0.0,
    "epochs": 8, "lr": 3e-3, "batch": 64,
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "attention": {"model": "bahdanau", "copy": False},
    "copy": {"model": "bahdanau"},
    "coverage": {"model": "bahdanau", "coverage": True},
    "transformer": {"model": "transformer", "layers": 2},
}
# Chosen on the validation part: no word of a subject comes twice.
DECODING = Decoding(length_penalty=1.2, min_length=2, no_repeat_ngram=1)
PAIRS = (("attention", "copy"), ("copy", "coverage"), ("attention", "transformer"))


def trained(name: str, folder: Path) -> unspool.Run:
    from rich.console import Console

    from unspool.training.progress import Printed

    out = folder / name
    return unspool.train(
        CORPUS / "train.jsonl.gz",
        task="summarize",
        out=out,
        resume=out.exists(),
        watcher=Printed(Console(stderr=True)),
        threads=1,
        **COMMON,
        **SETTINGS[name],
    )


def score(name: str, folder: Path) -> dict[str, Any]:
    run = trained(name, folder)
    began = time.perf_counter()
    report = run.evaluate(CORPUS / "dev.jsonl.gz", options=DECODING)
    assert isinstance(report, SummarizeReport)
    texts = [found.translation for found in report.summaries]
    sent = 100 * rouge(texts, [own[:1] for own in report.references])
    parameters = sum(p.numel() for p in run.model.parameters())
    return {
        "sent": sent.tolist(),
        "best": report.each.tolist(),
        "lead_sent": (100 * rouge(leads(report), [own[:1] for own in report.references])).tolist(),
        "lead_best": report.lead.tolist(),
        "words": report.words,
        "loss": report.metrics["loss"],
        "parameters": parameters,
        "seconds_to_write": time.perf_counter() - began,
    }


def lead_alone() -> None:
    plan = open_plan(CORPUS / "dev.jsonl.gz", make_config("summarize").data, "summarize")
    pairs = [row.values for row in plan.rows()]
    references = [[own, *more] for (_, own), more in zip(pairs, further_references(plan))]
    words = round(np.mean([len(own[0].split()) for own in references]))
    texts = lead([body for body, _ in pairs], words)
    sent = [own[:1] for own in references]
    for title, wanted in (("sent", sent), ("best of four", references)):
        print(f"lead, {words} words, {title} | {figures((100 * rouge(texts, wanted)).tolist())}")
    people = [own[1] for own in references]
    print(f"first of three other people, sent | {figures((100 * rouge(people, sent)).tolist())}")


def leads(report: SummarizeReport) -> list[str]:
    return lead([found.text for found in report.summaries], report.words)


def figures(rows: list[list[float]]) -> str:
    values = np.array(rows)
    shown = []
    for k in range(len(ROUGE_METRICS)):
        low, high = bootstrap_mean(values[:, k])
        shown.append(f"{values[:, k].mean():.2f} ({low:.2f} to {high:.2f})")
    return " | ".join(shown)


def table(stored: dict[str, Any]) -> None:
    for kind, title in (("sent", "the subject that was sent"), ("best", "the best of four")):
        print(f"\nagainst {title}: ROUGE-1 | ROUGE-2 | ROUGE-L, 95 % intervals")
        first = next(iter(stored.values()))
        print(f"  lead, {first['words']} words | {figures(first[f'lead_{kind}'])}")
        for name, own in stored.items():
            print(f"  {name} | {figures(own[kind])} | loss {own['loss']:.3f}")
        for before, after in PAIRS:
            if before in stored and after in stored:
                difference = np.array(stored[after][kind]) - np.array(stored[before][kind])
                print(f"  {after} - {before} | {figures(difference.tolist())}")
    print("\nthe paper's own, test part |", " | ".join(f"{value:.2f}" for value in PAPER))


def speed(rounds: int) -> None:
    """The time of the processor, on one thread, of training steps and beam searches, with copying
    and without, in turns."""
    torch.set_num_threads(1)
    plans = {"train": open_plan(CORPUS / "train.jsonl.gz", make_config("summarize").data)}
    made: dict[str, Any] = {}
    for name in ("attention", "copy", "coverage"):
        own = dict(SETTINGS[name])
        config = make_config("summarize", own.pop("model"), settings={**COMMON, **own})
        corpus = Summarize.load_corpus(config, plans)
        task = Summarize(config, corpus.fields)
        torch.manual_seed(1)
        model = build_model(task)
        batches = task.batches(corpus.parts["train"], training=True)
        assert isinstance(batches, BucketBatches)
        texts = [row[0] for row in corpus.parts["valid"].raw(np.arange(64), ("source",))]
        made[name] = task, model, [batches.batch(0, step) for step in range(8)], texts
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
    for round_ in range(rounds + 1):
        for name, (task, model, batches, texts) in made.items():
            model.train()
            began = time.process_time()
            for batch in batches:
                model.zero_grad()
                with torch.autocast("cpu", torch.bfloat16):
                    loss = task.loss(model, batch, None).loss
                loss.backward()
            middle = time.process_time()
            model.eval()
            list(task.predict(model, texts, Decoding(max_length=10, min_length=10)))
            if round_:  # the first is not counted
                times[name].append((middle - began, time.process_time() - middle))
    plain = np.median(times["attention"], 0)
    for name, own in times.items():
        train, write = np.median(own, 0)
        print(
            f"{name}: 8 steps {train:.3f} s, speed {plain[0] / train:.2f}; 64 beams {write:.3f} s,"
            f" speed {plain[1] / write:.2f} of attention alone"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--models", default=",".join(SETTINGS))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--lead", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    if not CORPUS.exists():
        sys.exit(f"no e-mails in {CORPUS}")
    if given.lead:
        lead_alone()
        return
    if given.speed:
        speed(given.rounds)
        return
    if given.folder is None:
        parser.error("name a folder for the runs")
    for name in [] if given.table else given.models.split(","):
        (given.folder / f"{name}.json").write_text(json.dumps(score(name, given.folder)))
    paths = {name: given.folder / f"{name}.json" for name in SETTINGS}
    table({name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()})


if __name__ == "__main__":
    main()
