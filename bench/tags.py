"""The figures of docs/results.md for tagging, row by row, on the development data.

    python bench/tags.py                list the rows
    python bench/tags.py conll2003      measure one; its figures go to bench/results/tag-NAME.json
    python bench/tags.py --table        print the table from the stored figures

Settings were settled on a share of the training data. The epoch is chosen on such a share too
(`valid_share`), so that the file that is reported on decides nothing. $VECTORS names a file of word
vectors for the row that starts from some, $ELMO a run of bench/elmo.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from results import DATA, STORE, size, train, with_interval
from unspool.tasks.contextual import mix_report

NER, NER_TEST = "ner/conll2003/eng.train", "ner/conll2003/eng.testa"
FROM_OUTSIDE = {"embedding.from": "VECTORS", "start": "ELMO"}
COMMON: dict[str, Any] = {"threads": 1, "valid_share": 0.05}


class Row(NamedTuple):
    """What is trained on, what is reported on, how."""

    about: str
    train: str
    test: str
    model: str
    settings: dict[str, Any]
    valid: str | None = None


ROWS = {
    "conll2003": Row("CoNLL-2003 names, CRF and characters", NER, NER_TEST, "bilstm", {}),
    "conll2003-softmax": Row(
        "the same with a softmax", NER, NER_TEST, "bilstm", {"output": "softmax"}
    ),
    "conll2003-forward": Row("the same, reading forwards only", NER, NER_TEST, "lstm", {}),
    "conll2003-words": Row(
        "the same without characters",
        NER,
        NER_TEST,
        "bilstm",
        {"characters": "none", "lowercase": False},
    ),
    "conll2003-filters": Row(
        "the same with characters by a CNN", NER, NER_TEST, "bilstm", {"characters": "cnn"}
    ),
    "conll2003-cnn": Row("the same with a CNN over words", NER, NER_TEST, "cnn", {}),
    "conll2003-transformer": Row(
        "the same with a Transformer over words", NER, NER_TEST, "transformer", {}
    ),
    "conll2003-vectors": Row(
        "the same from word vectors ($VECTORS)",
        NER,
        NER_TEST,
        "bilstm",
        {"embedding.from": None, "min_count": 1},
    ),
    "conll2003-elmo": Row(
        "the same with contextual vectors ($ELMO)", NER, NER_TEST, "bilstm", {"start": None}
    ),
    "conll2000": Row(
        "CoNLL-2000 chunks", "chunk/conll2000/train.txt", "chunk/conll2000/test.txt", "bilstm", {}
    ),
    "ewt": Row(
        "English Web Treebank, parts of speech (UPOS)",
        "pos/UD_English-EWT/en_ewt-ud-train.conllu",
        "pos/UD_English-EWT/en_ewt-ud-dev.conllu",
        "bilstm",
        {},
    ),
    "laptop": Row(
        "Laptop reviews, opinion targets with polarity",
        "opinion/e2e_tbsa/laptop14_train.txt",
        "opinion/e2e_tbsa/laptop14_test.txt",
        "bilstm",
        {"epochs": 40},
        valid="opinion/e2e_tbsa/laptop14_dev.txt",
    ),
}


def measure(name: str) -> dict[str, Any]:
    row = ROWS[name]
    settings = {**COMMON, **row.settings}
    for setting, variable in FROM_OUTSIDE.items():
        if setting in settings:
            if variable not in os.environ:
                sys.exit(f"this row needs vectors: {variable}=path python bench/tags.py {name}")
            settings[setting] = os.environ[variable]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            DATA / row.train, scratch, "run", task="tag", model=row.model, test=DATA / row.test,
            valid=None if row.valid is None else DATA / row.valid, **settings,
        )  # fmt: skip
        report = run.report
        figure = with_interval(run.task.metric, report)
        if "accuracy_unknown" in report.metrics and run.task.metric == "accuracy":
            figure += f", {report.metrics['accuracy_unknown']:.4f} of unknown words"
        return {
            "model": row.model,
            "figure": figure,
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
            "epochs": run.counters.epoch,
            "report": report.to_json(),
            **mix_report(run.model),
        }


def table() -> list[str]:
    lines = [
        "| command | what | model | figure | parameters | minutes |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in ROWS.items():
        path = STORE / f"tag-{name}.json"
        if path.exists():
            found = json.loads(path.read_text())
            lines.append(
                f"| `python bench/tags.py {name}` | {row.about} | {found['model']} "
                f"| {found['figure']} | {found['parameters']:,} | {found['seconds'] / 60:.1f} |"
            )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("row", nargs="?", choices=ROWS)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table()))
    elif options.row is None:
        for name, row in ROWS.items():
            print(f"{name:<22} {row.about}")
    elif not Path(DATA).exists():
        print(f"skipped: no development data at {DATA}", file=sys.stderr)
    else:
        found = measure(options.row)
        STORE.mkdir(exist_ok=True)
        (STORE / f"tag-{options.row}.json").write_text(json.dumps(found, indent=1) + "\n")
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
