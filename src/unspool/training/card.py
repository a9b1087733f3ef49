"""README.md of a run folder: a model card, with the baselines beside the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unspool.data.read.files import sides
from unspool.tasks import Report, Task
from unspool.tasks.decision import FILE
from unspool.training.checkpoint import Counters
from unspool.training.comparison import BaselineComparison
from unspool.training.folder import RunFolder

JUDGED = {
    "test": "On the test part of the data, which had no part in training.",
    "valid": "On the validation part of the data, which also chose these weights.",
    "folds": "By cross-validation: each row by a model that had not seen it. The model of this"
    " folder was then trained on all rows, for the median of the epochs that were best in the"
    " folds, and was not evaluated itself.",
    None: "No part of the data was held out, so the model was not evaluated.",
    "stopped": "Training was stopped before its end, so the model was not evaluated.",
}


def model_card(
    folder: RunFolder,
    task: Task,
    layers: list[str],
    counters: Counters,
    report: Report | None,
    part: str | None,
    comparison: BaselineComparison | None = None,
    findings: Sequence[str] = (),
) -> str:
    """The card as Markdown: use, result, data, training, network, all settings."""
    record = folder.read_record()
    config = task.config
    name = folder.path.name
    use = task.usage.format(run=folder.path)
    begun = [record[key] for key in ("start", "vectors") if key in record]
    lines = [
        f"# {name}",
        "",
        f"A `{config.model_name}` model for the task `{task.name}`, trained with unspool "
        f"{record['versions']['unspool']}.",
        "",
        "    " + use,
        "",
        "## Result",
        "",
        JUDGED[part],
        *fitted_lines(folder, part),
        "",
        *(f"    {line}" for line in (report.lines() if report else [])),
        "",
        *([] if comparison is None else [*(f"    {line}" for line in comparison.lines()), ""]),
        "## Data",
        "",
        *data_lines(record),
        *vocabulary_lines(task, started="start" in record),
        "## Training",
        "",
        training_line(counters, record["threads"]),
        *(f"Started from `{from_['path']}`, SHA-256 `{from_['sha256']}`." for from_ in begun),
        "",
        "## Network",
        "",
        *(f"    {line}" for line in layers),
        "",
        *(["## Weights", "", *(f"* {line}" for line in findings), ""] if findings else []),
        *settings_lines(record),
        "Versions: " + ", ".join(f"{k} {v}" for k, v in record["versions"].items()) + ".",
        "",
    ]
    return "\n".join(lines)


def data_lines(record: Mapping[str, Any]) -> list[str]:
    """The files, the rows of each part, and what was left out of them."""
    corpus = record.get("corpus", {})
    rows = corpus.get("rows", {})
    return [
        "| part | file | SHA-256 |",
        "|---|---|---|",
        *(
            table_row(
                name, ", ".join(Path(side).name for side in sides(file["path"])), file["sha256"]
            )
            for name, file in record["data"].items()
        ),
        "",
        *(["| part | rows |", "|---|---|"] if rows else []),
        *(table_row(name, f"{count:,}") for name, count in rows.items()),
        *([""] if rows else []),
        *(f"* {note}" for note in corpus.get("notes", [])),
        *([""] if corpus.get("notes") else []),
    ]


def vocabulary_lines(task: Task, *, started: bool) -> list[str]:
    if not task.reads_tokens:
        return []
    line = f"Vocabulary: {len(task.tokenizer.vocab):,} tokens, from "
    line += "the model it started from." if started else "the training part only."
    return [line + " Then words of the vectors." * task.config.embedding.extend, ""]


def fitted_lines(folder: RunFolder, part: str | None) -> list[str]:
    """Further reasons why the figures may be optimistic."""
    if part != "valid" or not (folder.path / FILE).exists():
        return []
    return [f"What `{FILE}` has was fitted to it too, so figures on other data tell more."]


def training_line(counters: Counters, threads: int) -> str:
    cost = f"{counters.tokens:,} tokens, {counters.seconds:.0f} s on {threads} threads"
    if not counters.step:
        return f"Fitted at once: {counters.finished}; {cost}."
    begun = f"{counters.step:,} steps, {cost}; ended because: "
    begun += f"{counters.finished or 'it was stopped'}. "
    if counters.best_step:
        return f"{begun}The weights are those of step {counters.best_step:,}."
    return f"{begun}The weights are those of step {counters.step:,}, and have not been validated."


def table_row(*cells: Any) -> str:
    return "| " + " | ".join(f"`{cell}`" for cell in cells) + " |"


def settings_lines(record: Mapping[str, Any]) -> list[str]:
    """Every setting of a config.json."""
    rows = [
        table_row(f"{section}.{key}", value)
        for section, values in record["config"].items()
        if isinstance(values, dict)
        for key, value in values.items()
    ]
    return ["## Settings", "", "| setting | value |", "|---|---|", *rows, ""]
