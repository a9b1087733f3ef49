"""English to German on Multi30k: four models, from the given sentences alone.

    python bench/multi30k.py FOLDER                  train what FOLDER has not yet, score everything
    python bench/multi30k.py FOLDER --models luong   one of them
    python bench/multi30k.py FOLDER --table          print the table from the stored figures

29,000 pairs to learn from; the epoch is chosen on the validation part by BLEU of greedy
translations; the test part of 2016 (1,000 pairs) is translated with a beam of 5. BLEU and chrF are
sacrebleu's on plain text. One thread a model: run two side by side on two cores. A run that was cut
off is continued. Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import unspool
from timing import DATA
from unspool.tasks.translate.answer import TranslateReport
from unspool.training.progress import Printed

CORPUS = DATA / "mt" / "multi30k"
STORE = Path(__file__).parent / "results" / "multi30k.json"
RECURRENT: dict[str, Any] = {"epochs": 10, "lr": 2e-3}
SETTINGS: dict[str, dict[str, Any]] = {
    "seq2seq": {**RECURRENT, "epochs": 8},
    "bahdanau": RECURRENT,
    "luong": RECURRENT,
    "transformer": {},  # its defaults
}


def pair(part: str) -> str:
    return ",".join(str(CORPUS / f"{part}.{language}.gz") for language in ("en", "de"))


def trained(model: str, folder: Path) -> unspool.Run:
    """The finished run, made or continued where needed."""
    from rich.console import Console

    out = folder / model
    return unspool.train(
        pair("train"),
        valid=pair("val"),
        task="translate",
        model=model,
        out=out,
        resume=out.exists(),
        watcher=Printed(Console(stderr=True)),
        threads=1,
        precision="fp32",
        **SETTINGS[model],
    )


def seconds(run: unspool.Run) -> float:
    """Of the training, by its log."""
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    return max(line.get("seconds", 0.0) for line in lines)


def score(run: unspool.Run) -> dict[str, Any]:
    found: dict[str, Any] = {
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "minutes": round(seconds(run) / 60, 1),
    }
    searches = {"": unspool.Decoding(beam=5)}
    if run.config.model.network == "transformer":
        searches["_int8"] = unspool.Decoding(beam=5, int8=True)
    for name, decoding in searches.items():
        report = run.evaluate(pair("test_2016_flickr"), options=decoding)
        assert isinstance(report, TranslateReport)
        found[f"bleu{name}"], found[f"chrf{name}"] = (report.metrics[m] for m in ("bleu", "chrf"))
        found[f"interval{name}"], found["signature"] = report.interval, report.signatures["bleu"]
    return found


def table(stored: dict[str, Any]) -> list[str]:
    lines = ["| model | BLEU | chrF | parameters | minutes |", "|---|---|---|---|---|"]
    for model, found in stored.items():
        low, high = found["interval"]
        lines.append(
            f"| {model} | {found['bleu']:.1f} ({low:.1f} to {high:.1f}) | {found['chrf']:.1f}"
            f" | {found['parameters']:,} | {found['minutes']:.0f} |"
        )
        if "bleu_int8" in found:
            lines.append(
                f"| {model}, int8 | {found['bleu_int8']:.1f} | {found['chrf_int8']:.1f} | | |"
            )
    return [*lines, "", *{found["signature"] for found in stored.values()}]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", default=",".join(SETTINGS))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    if not options.table:
        if not CORPUS.exists():
            print(f"skipped: no development data at {CORPUS}", file=sys.stderr)
            return 0
        for model in options.models.split(","):
            found = score(trained(model, options.folder))
            stored = json.loads(STORE.read_text()) if STORE.exists() else {}
            stored = {m: {**stored, model: found}[m] for m in SETTINGS if m in {**stored, model: 0}}
            STORE.write_text(json.dumps(stored, indent=1) + "\n")
    print("\n".join(table(stored)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
