"""The figures of docs/results.md for tagging, row by row, on the development data.

    python bench/tags.py                list the rows
    python bench/tags.py conll2003      measure one; its figures go to bench/results/tag-NAME.json
    python bench/tags.py --table        print the table from the stored figures

Settings were settled on a share of the training data. The epoch is chosen on such a share too
(`valid_share`), so that the file that is reported on decides nothing. $VECTORS names a file of word
vectors for the row that starts from some, $ELMO a run of bench/elmo.py.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from typing import Any, NamedTuple

from rows import DATA, Row, main, size, train, with_interval
from unspool.tasks.embedding import mix_report

NER, NER_TEST = "ner/conll2003/eng.train", "ner/conll2003/eng.testa"
FROM_OUTSIDE = {"embedding.from": "VECTORS", "start": "ELMO"}
COMMON: dict[str, Any] = {"threads": 1, "valid_share": 0.05}


class Corpus(NamedTuple):
    """What is trained on, what is reported on, how."""

    about: str
    train: str
    test: str
    model: str
    settings: dict[str, Any]
    valid: str | None = None


CORPORA = {
    "conll2003": Corpus("CoNLL-2003 names, CRF and characters", NER, NER_TEST, "bilstm", {}),
    "conll2003-softmax": Corpus(
        "the same with a softmax", NER, NER_TEST, "bilstm", {"output": "softmax"}
    ),
    "conll2003-forward": Corpus("the same, reading forwards only", NER, NER_TEST, "lstm", {}),
    "conll2003-words": Corpus(
        "the same without characters",
        NER,
        NER_TEST,
        "bilstm",
        {"characters": "none", "lowercase": False},
    ),
    "conll2003-filters": Corpus(
        "the same with characters by a CNN", NER, NER_TEST, "bilstm", {"characters": "cnn"}
    ),
    "conll2003-cnn": Corpus("the same with a CNN over words", NER, NER_TEST, "cnn", {}),
    "conll2003-transformer": Corpus(
        "the same with a Transformer over words", NER, NER_TEST, "transformer", {}
    ),
    "conll2003-vectors": Corpus(
        "the same from word vectors ($VECTORS)",
        NER,
        NER_TEST,
        "bilstm",
        {"embedding.from": None, "min_count": 1},
    ),
    "conll2003-elmo": Corpus(
        "the same with contextual vectors ($ELMO)", NER, NER_TEST, "bilstm", {"start": None}
    ),
    "conll2000": Corpus(
        "CoNLL-2000 chunks", "chunk/conll2000/train.txt", "chunk/conll2000/test.txt", "bilstm", {}
    ),
    "ewt": Corpus(
        "English Web Treebank, parts of speech (UPOS)",
        "pos/UD_English-EWT/en_ewt-ud-train.conllu",
        "pos/UD_English-EWT/en_ewt-ud-dev.conllu",
        "bilstm",
        {},
    ),
    "laptop": Corpus(
        "Laptop reviews, opinion targets with polarity",
        "opinion/e2e_tbsa/laptop14_train.txt",
        "opinion/e2e_tbsa/laptop14_test.txt",
        "bilstm",
        {"epochs": 40},
        valid="opinion/e2e_tbsa/laptop14_dev.txt",
    ),
}


def measure(name: str) -> dict[str, Any]:
    row = CORPORA[name]
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
        figure = with_interval(run.task.metric.name, report)
        if "accuracy_unknown" in report.metrics and run.task.metric.name == "accuracy":
            figure += f", {report.metrics['accuracy_unknown']:.4f} of unknown words"
        return {
            "model": row.model,
            "value": {run.task.metric.name: report.metrics[run.task.metric.name]},
            "figure": figure,
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
            "epochs": run.counters.epoch,
            "report": report.to_json(),
            **mix_report(run.model),
        }


ROWS = {name: Row(row.about, partial(measure, name)) for name, row in CORPORA.items()}

if __name__ == "__main__":
    sys.exit(main(ROWS, "tags.py", __doc__, prefix="tag-"))
