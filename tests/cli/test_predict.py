"""`unspool predict`: what it prints and writes for every task, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest
from PIL import Image

TEXTS = ["a great film", "the plot was awful"]
SMALL = ["-s", "hidden=8", "-s", "embedding=8", "-s", "threads=1", "-s", "max_steps=2"]


def test_labels(unspool, classifier) -> None:
    ended = unspool("predict", classifier, *TEXTS)
    assert (ended.code, ended.err) == (0, "")
    rows = [line.split("\t") for line in ended.out.splitlines()]
    assert [(label, text) for label, _, text in rows] == [("pos", TEXTS[0]), ("neg", TEXTS[1])]
    assert all(0.5 <= float(chance) <= 1 for _, chance, _ in rows)
    assert unspool("predict", classifier, TEXTS[0]).out == ended.out.splitlines(True)[0]


def test_labels_as_json(unspool, classifier) -> None:
    answers = [
        json.loads(line)
        for line in unspool("predict", classifier, *TEXTS, "--json").out.splitlines()
    ]
    assert [answer["label"] for answer in answers] == ["pos", "neg"]
    assert list(answers[0]["probabilities"]) == ["neg", "pos"]


def test_standard_input(unspool, classifier, monkeypatch) -> None:
    lines = f"{TEXTS[0]}\n\n{TEXTS[1]}, café".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    ended = unspool("predict", classifier, "-")
    assert ended.code == 0
    texts = [line.split("\t")[2] for line in ended.out.splitlines()]
    assert texts == [TEXTS[0], "", f"{TEXTS[1]}, café"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text\n1,a great film\n2,"the plot was awful"\n'),
        ("a.tsv", "text\tid\na great film\t1\nthe plot was awful\t2\n"),
        ("a.jsonl", '{"text": "a great film"}\n{"text": "the plot was awful"}\n'),
        ("a.txt", "a great film\nthe plot was awful\n"),
    ],
)
def test_a_file_without_labels(name, content, unspool, classifier, tmp_path) -> None:
    (tmp_path / name).write_text(content)
    ended = unspool("predict", classifier, "--file", tmp_path / name)
    assert ended.code == 0, ended.err
    assert [line.split("\t")[::2] for line in ended.out.splitlines()] == [
        ["pos", TEXTS[0]], ["neg", TEXTS[1]],
    ]  # fmt: skip
    assert ended.err.startswith(f"{tmp_path / name}: ")
    for path in (tmp_path / name, tmp_path if name == "a.txt" else tmp_path / name):
        assert unspool("predict", classifier, path).out == ended.out


def test_the_name_of_a_file_without_an_ending_is_a_text(
    unspool, classifier, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "film").write_text(TEXTS[1])
    assert unspool("predict", classifier, "film").out.endswith("\tfilm\n")


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl"])
def test_writing_into_a_file(name, unspool, classifier, tmp_path) -> None:
    out = tmp_path / name
    ended = unspool("predict", classifier, 'a great, "odd"\tfilm', TEXTS[1], "--out", out)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"2 predictions in {out}\n"
    if name == "p.jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        with open(out, newline="") as file:
            rows = list(csv.DictReader(file, delimiter="," if name == "p.csv" else "\t"))
        assert list(rows[0]) == ["label", "probability", "p(neg)", "p(pos)", "text"]
        assert float(rows[0]["p(neg)"]) + float(rows[0]["p(pos)"]) == pytest.approx(1, abs=2e-6)
    assert [row["label"] for row in rows] == ["pos", "neg"]
    assert rows[0]["text"] == 'a great, "odd"\tfilm'
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_other_columns_are_kept_as_they_are_written(unspool, classifier, tmp_path) -> None:
    data, out = tmp_path / "a.csv", tmp_path / "o.csv"
    data.write_text("text;price;share\na good film;1.234,5;30 %\ndull;2,0;7 %\n")
    assert unspool("predict", classifier, "--file", data, "--out", out).code == 0
    first, *_ = csv.DictReader(out.read_text().splitlines(), delimiter=";")  # as it was read
    assert (first["price"], first["share"]) == ("1.234,5", "30 %")


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_tables_of_other_programs(ending, unspool, classifier, tmp_path) -> None:
    data, out = tmp_path / "a.csv", tmp_path / f"o.{ending}"
    data.write_text("id,zip,price,text\n1,007,2.5,a great film\n2,=1+1,,dull\n")
    ended = unspool("predict", classifier, "--file", data, "--out", out)
    assert ended.code == 0, ended.err
    if ending == "parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist()
    else:
        book = pytest.importorskip("openpyxl").load_workbook(out)
        header, *cells = [list(row) for row in book.active.iter_rows()]
        rows = [{n.value: c.value for n, c in zip(header, row)} for row in cells]
        assert cells[1][1].data_type == "s"  # no formula
    assert [list(row.values())[:4] for row in rows] == [
        [1, "007", 2.5, "a great film"], [2, "=1+1", None, "dull"],
    ]  # fmt: skip
    assert rows[0]["label"] == "pos"
    assert rows[0]["p(neg)"] + rows[0]["p(pos)"] == pytest.approx(1, abs=2e-6)
    again = tmp_path / "again.csv"
    assert unspool("predict", classifier, "--file", out, "--out", again).code == 0
    assert [row["predicted_label"] for row in csv.DictReader(again.read_text().splitlines())] == [
        "pos",
        "neg",
    ]


@pytest.mark.parametrize(("package", "ending"), [("openpyxl", "xlsx"), ("pyarrow", "parquet")])
def test_tables_without_their_package(
    package, ending, unspool, classifier, tmp_path, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    ended = unspool("predict", classifier, "a film", "--out", tmp_path / f"o.{ending}")
    assert ended.code == 2
    assert f"written by {package}, which is not installed" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_labels_are_called_as_in_the_table(unspool, tmp_path) -> None:
    data, out = tmp_path / "a.csv", tmp_path / "o.csv"
    data.write_text("stars,review\n" + "five,a great film\none,a dull film\n" * 10)
    train = ("train", data, "--label", "stars", "--model", "majority", "--out", tmp_path / "run")
    assert unspool(*train).code == 0
    assert unspool("predict", tmp_path / "run", "a film", "--out", out).code == 0
    assert out.read_text().startswith("stars,probability,p(five),p(one),text\n")
    assert unspool("predict", tmp_path / "run", "--file", data, "--out", out).code == 0
    assert out.read_text().startswith("stars,review,predicted_stars,probability,")


def test_columns_that_are_images_are_named(unspool, translator, tmp_path) -> None:
    """A folder of images has its names as texts."""
    for label in ("good film", "bad film"):
        (tmp_path / label).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / label / "1.png")
    ended = unspool("predict", translator, "--file", tmp_path, "--json", "--beam", 1)
    first = json.loads(ended.out.splitlines()[0])
    assert (first["image"], first["folder"]) == (f"{tmp_path}/bad film/1.png", "bad film")


def test_settings_of_reading(unspool, classifier, tmp_path) -> None:
    """`--set sheet=`, which messages name, also for a run."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for name in ("a", "b"):
        sheet = book.create_sheet(name)
        for row in [("text", "label"), *((f"{text} {name}", "pos") for text in TEXTS)]:
            sheet.append(row)
    book.save(tmp_path / "new.xlsx")
    for command in (("predict", classifier, "--file"), ("evaluate", classifier)):
        for name in ("a", "b"):
            ended = unspool(*command, tmp_path / "new.xlsx", "--set", f"sheet={name}")
            assert ended.code == 0, ended.err
            assert f"sheet '{name}' of 3" in ended.err
        ended = unspool(*command, tmp_path / "new.xlsx", "--set", "hidden=3")
        assert ended.code == 2
        assert "unknown setting of reading; got 'hidden'" in ended.err


def test_tags(unspool, tagger) -> None:
    ended = unspool("predict", tagger, "Anna met Ulm today.")
    assert ended.out == "[PER Anna] met [LOC Ulm] today.\n"
    found = json.loads(unspool("predict", tagger, "Anna met Ulm today.", "--json").out)
    assert [(s["start"], s["end"], s["label"]) for s in found["spans"]] == [
        (0, 4, "PER"), (9, 12, "LOC"),
    ]  # fmt: skip


def test_tags_of_files(unspool, tagger, sentences, tmp_path) -> None:
    out = tmp_path / "out.conll"
    ended = unspool("predict", tagger, "--file", sentences, "--out", out)
    assert "200 texts in" in ended.err
    rows = [line.split() for line in out.read_text().splitlines() if line]
    words = [line.split()[0] for line in sentences.read_text().splitlines() if line]
    assert [row[0] for row in rows] == words
    assert {row[1][0] for row in rows} <= set("OBIES")
    lines = tmp_path / "lines.txt"
    lines.write_text("Anna met Ulm .\nBert saw Bern .\n")
    for ending in ("csv", "tsv", "jsonl", "txt"):
        out = tmp_path / f"out.{ending}"
        assert unspool("predict", tagger, "--file", lines, "--out", out).code == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 5
    assert (tmp_path / "out.txt").read_text().startswith("[PER Anna] met")
    tokens = tmp_path / "tokens.jsonl"
    tokens.write_text('{"tokens": ["Anna", "met", "Ulm", "."]}\n')
    assert unspool("predict", tagger, "--file", tokens).out == "[PER Anna] met [LOC Ulm] .\n"


def test_translations(unspool, translator, tmp_path) -> None:
    texts = ["red OOOOOA dog", "blue AAAAAA cat"]
    wanted = ["rot OOOOOA Hund", "blau AAAAAA Katze"]
    ended = unspool("predict", translator, *texts)
    assert (ended.code, ended.out.splitlines(), ended.err) == (0, wanted, "")
    (tmp_path / "t.en").write_text("\n".join([texts[0], "", texts[1]]) + "\n")
    ended = unspool("predict", translator, "-f", tmp_path / "t.en", "-o", tmp_path / "t.txt")
    assert (tmp_path / "t.txt").read_text().splitlines() == [wanted[0], "", wanted[1]]
    assert "3 translations in" in ended.err
    ended = unspool("predict", translator, texts[0], "--nbest", 2, "--beam", 3)
    rows = list(csv.reader(ended.out.splitlines(), delimiter="\t"))
    assert [row[0] for row in rows] == ["1", "1"]
    assert float(rows[0][1]) > float(rows[1][1])
    assert rows[0][2] == wanted[0]
    unspool("predict", translator, *texts, "-o", tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().startswith("number,score,translation,text\n1,")
    ended = unspool("predict", translator, texts[0], "--keep-unknown", "--beam", 1)
    assert ended.out == "rot <unk> Hund\n"


def test_translations_as_json(unspool, translator) -> None:
    ended = unspool("predict", translator, "red OOOOOA dog", "--json", "--nbest", 2)
    found = json.loads(ended.out)
    assert found["translation"] == "rot OOOOOA Hund"
    assert len(found["nbest"]) == 2
    assert len(found["alignment"]) == len(found["tokens"]) == 3
    assert len(found["alignment"][0]) == len(found["source_tokens"]) == 4
    drawn = ["predict", translator, "red OOOOOA dog", "--temperature", 2, "--seed", 3]
    assert unspool(*drawn).out == unspool(*drawn).out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--beam", "0"], "beam must be 1 or more; got 0"),
        (["--nbest", "7"], "a beam of 5 cannot give 7 sentences"),
        (["--temperature", "0"], "temperature must be above 0"),
        (["--out", "x.doc"], "unknown ending of the output file; got '.doc'"),
        (["--max-length", "2", "--min-length", "3"], "min length 3 is above max length 2"),
        (["--int8"], "int8 is not for this model: it is not a Transformer"),
    ],
)
def test_options_of_decoding_that_make_no_sense(
    unspool, translator, tmp_path, monkeypatch, options, says
):
    monkeypatch.chdir(tmp_path)
    ended = unspool("predict", translator, "red", *options)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1
    assert says in ended.err


def test_a_classifier_has_no_beam(unspool, classifier) -> None:
    ended = unspool("predict", classifier, "a film", "--length-penalty", 1)
    assert ended.code == 2
    assert (
        "--length-penalty is for translations, summaries and captions; got 'a classify model'"
        in ended.err
    )
    ended = unspool("evaluate", classifier, "reviews.csv", "--beam", 2)
    assert ended.code == 2
    assert (
        "--beam is for translations, summaries, transcripts and captions; got 'a classify model'"
        in ended.err
    )


def test_picture_of_an_alignment(unspool, translator, classifier, pairs, tmp_path) -> None:
    picture = tmp_path / "alignment.svg"
    ended = unspool("predict", translator, "two dogs play", "a man", "--picture", picture)
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 2
    assert f"the alignment is in {picture}" in ended.err
    assert "<svg" in picture.read_text()

    wrong = unspool("predict", translator, "two dogs", "--picture", tmp_path / "alignment.gif")
    assert wrong.code == 2
    assert "a picture cannot be written in this format; got '.gif'" in wrong.err
    other = unspool("predict", classifier, "a film", "--picture", picture)
    assert other.code == 2
    assert (
        "--picture is for translations, captions, forecasts and transcripts; got 'a classify model'"
        in other.err
    )
    blind = tmp_path / "blind"
    assert (
        unspool("train", pairs, "-m", "seq2seq", "-o", blind, "-s", "vocab=300", *SMALL).code == 0
    )
    nowhere = unspool("predict", blind, "two dogs", "--picture", picture)
    assert nowhere.code == 2
    assert "there is no alignment to draw; got 'a model without attention'" in nowhere.err


def test_prompts_of_a_language_model(unspool, writer, tmp_path) -> None:
    out = tmp_path / "texts.csv"
    ended = unspool("predict", writer, "the film ", "a ", "--temperature", 0, "--out", out)
    assert (ended.code, ended.err) == (0, f"2 texts in {out}\n")
    rows = list(csv.DictReader(out.read_text().splitlines(keepends=True)))
    assert [row["prompt"] for row in rows] == ["the film ", "a "]
    written = unspool("generate", writer, "--prompt", "the film ", "--temperature", 0)
    assert rows[0]["text"] == written.out.removesuffix("\n")


def test_the_help_groups_the_options_of_decoding(unspool) -> None:
    shown = unspool("predict", "--help").out
    options, decoding = shown.split("\nDecoding:\n")
    assert "--file" in options
    assert "--beam" not in options.split("\nOptions:\n")[1]
    assert "--beam" in decoding
    assert "translate:" not in shown
