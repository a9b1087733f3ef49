"""summarize, from files to summaries: columns, copying of unknown words, references, bad input."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from unspool.api.run import Run
from unspool.api.settings import make_config, refuse_unread_settings
from unspool.api.train import train
from unspool.config import DataConfig
from unspool.data.part import Part
from unspool.errors import ConfigError, DataError
from unspool.search.decoding import Decoding
from unspool.tasks.planner import open_plan
from unspool.tasks.summarize.task import Summarize, SummarizeReport
from unspool.text.vocab import END_ID

FILLERS = ["please", "note", "that", "we", "shall", "meet", "soon", "thanks", "for", "help"]


def rows(count: int, seed: int) -> list[dict[str, object]]:
    """The subject is `meeting with NAME`, whose name stands after `with`, and is nowhere else."""
    rng = random.Random(seed)
    made: list[dict[str, object]] = []
    for _ in range(count):
        name = "".join(rng.choices("bcdfgklmnprstv", k=7))
        words = [*rng.choices(FILLERS, k=rng.randrange(4, 8)), "with", name]
        words += rng.choices(FILLERS, k=rng.randrange(4, 8))
        made.append({"body": " ".join(words), "subject": f"meeting with {name}"})
    return made


def write(path: Path, made: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mails")
    held = rows(40, 2)
    for row in held:
        row["others"] = ["something else", f"re: {row['subject']}"]
    write(folder / "dev.jsonl", held)
    return write(folder / "train.jsonl", rows(400, 1))


@pytest.fixture(scope="module")
def run(mails: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(
        mails,
        out=tmp_path_factory.mktemp("runs") / "mails",
        hidden=32,
        embedding=24,
        min_count=2,
        dropout=0.0,
        epochs=6,
        batch=16,
        lr=1e-2,
        threads=1,
        precision="fp32",
    )


def test_unknown_words_are_copied_and_it_is_known_from_where(run: Run) -> None:
    assert run.task.name == "summarize"
    assert run.config.model.copying
    (found,) = run.predict("please note that with zzyzxqq we shall meet", Decoding(alignment=True))
    assert str(found) == "meeting with zzyzxqq"
    assert found.tokens == ["meeting", "with", "zzyzxqq"]
    assert found.copied is not None
    assert found.copied[2].copied == 1  # the vocabulary does not have it
    assert found.copied[2].position == 4
    assert found.copied[0].position is None
    stored = json.loads(json.dumps(found.to_json()))
    assert stored["summary"] == "meeting with zzyzxqq"
    assert stored["copied"][2]["position"] == 4
    plain = run.predict("please note that with zzyzxqq we shall meet")[0]
    assert plain.copied is None
    assert plain.translation == found.translation


def test_names_that_nobody_has_seen_are_learnt_to_be_copied(run: Run, mails: Path) -> None:
    """Source and target agree on the number of an unknown word, so its loss is that of copying."""
    held = [json.loads(line) for line in (mails.parent / "dev.jsonl").read_text().splitlines()]
    part = Part.of(
        run.task.fields,
        source=[row["body"] for row in held],
        target=[row["subject"] for row in held],
    )
    batch = part.collate(np.arange(len(part)))
    names = batch["target"].copies[:, 3]  # <s> meeting with NAME </s>
    assert (names >= len(run.task.target_tokenizer)).all()
    assert (batch["source"].copies == names[:, None]).sum(1).tolist() == [1] * len(held)
    assert run.evaluate(mails.parent / "dev.jsonl").metrics["loss"] < 0.5


def test_summaries_are_neither_empty_nor_longer_than_their_documents(
    mails: Path, tmp_path: Path
) -> None:
    """Of a model that has learnt nothing but to end, or never to."""
    run = train(mails, out=tmp_path / "run", hidden=8, embedding=8, epochs=1, threads=1)
    texts = ["please note that we shall meet", " ".join(["please note"] * 15)]
    bias = run.model.decoder.output.b.data
    gate = run.model.decoder.output.generate.bias.data.fill_(50.0)  # nothing is copied
    assert gate.item() == 50
    bias[END_ID] = 50.0
    assert [len(found.tokens) for found in run.predict(texts)] == [1, 1]
    assert [len(found.tokens) for found in run.predict(texts, Decoding(min_length=3))] == [3, 3]
    bias[END_ID] = -50.0
    assert [len(found.tokens) for found in run.predict(texts)] == [10, 30]
    assert [len(found.tokens) for found in run.predict(texts, Decoding(min_length=20))] == [20, 30]
    assert [len(found.tokens) for found in run.predict(texts, Decoding(max_length=40))] == [40, 40]
    assert run.predict("")[0].translation == ""


def test_a_look_names_what_was_copied(run: Run) -> None:
    reading = run.task.reading(run.model, "please note that soon we with qqqq thanks for help that")
    assert reading.answer.tokens == ["meeting", "with", "qqqq", "</s>"]
    assert reading.answer.copied[2].position == 6
    scores = reading.run()[0]
    assert scores.exp().sum(-1).tolist() == pytest.approx([1.0] * 4, abs=1e-4)
    assert reading.answer.name(reading.answer.target[2]) == "qqqq"
    assert len(reading.without(0).run()[0]) == len(reading.blank().run()[0]) == 4


def test_the_report_has_rouge_the_lead_and_all_references(run: Run, mails: Path) -> None:
    report = run.evaluate(mails.parent / "dev.jsonl")
    assert isinstance(report, SummarizeReport)
    assert report.metrics["rouge1"] > 80
    assert report.metrics["rougeL"] > report.metrics["lead_rougeL"]
    assert report.words == 3
    assert all(len(own) == 3 for own in report.references)
    text = "\n".join(report.lines())
    assert "ROUGE-L" in text
    assert "lead" in text
    assert "up to 3 references each" in text
    short = run.evaluate(mails.parent / "dev.jsonl", options=Decoding(max_length=1))
    assert max(len(found.tokens) for found in short.summaries) == 1
    least = run.evaluate(mails.parent / "dev.jsonl", options=Decoding(min_length=5))
    assert min(len(found.tokens) for found in least.summaries) == 5


@pytest.mark.parametrize(
    ("names", "task"),
    [
        (("body", "subject"), "summarize"),
        (("article", "summary"), "summarize"),
        (("document", "summary"), "summarize"),
        (("text", "headline"), "summarize"),
        (("text", "title"), "summarize"),
    ],
)
def test_columns_are_known_by_their_names(
    tmp_path: Path, names: tuple[str, str], task: str
) -> None:
    made = [dict(zip(names, row.values())) for row in rows(12, 3)]
    path = tmp_path / "table.csv"
    lines = [",".join(names), *(",".join(map(str, row.values())) for row in made)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    plan = open_plan(path, DataConfig())
    assert plan.task == task
    assert [column.name for column in plan.columns.values()] == list(names)
    assert f"documents in column {names[0]!r}, summaries in {names[1]!r}" in plan.summary
    assert 'task="translate"' in plan.summary


def test_a_table_with_labels_is_none_of_summaries(tmp_path: Path) -> None:
    path = tmp_path / "news.csv"
    lines = [f"{row['body']},{row['subject']},{i % 2}" for i, row in enumerate(rows(12, 3))]
    path.write_text("text,title,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert open_plan(path, DataConfig()).task == "classify"


def test_bad_input(tmp_path: Path) -> None:
    made = rows(12, 3)
    path = write(tmp_path / "mails.jsonl", made)
    with pytest.raises(DataError, match=r"mails\.jsonl.*'nothing'|'nothing'.*mails\.jsonl"):
        open_plan(path, DataConfig(target="nothing"), "summarize")
    write(path, [{**row, "subject": ""} for row in made])
    settings = {"hidden": 8, "embedding": 8, "max_steps": 1, "threads": 1}
    with pytest.raises(DataError, match="all 12 rows have an empty target"):
        train(path, out=tmp_path / "run", task="summarize", **settings)
    assert not (tmp_path / "run").exists()
    made[3] = {"body": "", "subject": "a b"}
    made[4] = {"body": "short", "subject": "far longer than that"}
    write(path, made)
    config = make_config("summarize", settings={"valid_share": 0.0, "max_length": 8})
    notes = "\n".join(Summarize.load_corpus(config, {"train": open_plan(path, config.data)}).notes)
    assert "1 documents with an empty source left out" in notes
    assert f"1 summaries are longer than their documents, the first at {path}:5" in notes
    assert "sources cut to their first 8 tokens" in notes


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        ("seq2seq", {"copy": True}, "model.copy needs attention"),
        ("luong", {"coverage": True}, "model.coverage is for additive attention"),
        ("transformer", {"coverage": True}, "model.coverage is for additive attention"),
        (None, {"copy": False, "coverage": True}, "model.coverage is read only with model.copy"),
    ],
)
def test_settings_that_do_not_go_together(
    model: str | None, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        refuse_unread_settings(settings, None, [make_config("summarize", model, settings=settings)])
