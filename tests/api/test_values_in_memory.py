"""Data in memory: frames, columns, records, arrays and lists stand wherever a file does."""

import json
import random

import numpy as np
import pytest

import unspool
from unspool.data.read.memory import columns_of
from unspool.errors import DataError, RunError
from unspool.tasks.planner import open_plan

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "lr": 0.01, "batch": 16, "epochs": 2}
GOOD, BAD = ["good", "great", "fine"], ["bad", "poor", "dull"]


def table(count: int = 80) -> dict[str, list]:
    rng = random.Random(4)
    labels = [("pos", "neg")[i % 2] for i in range(count)]
    texts = [
        f"the film was {rng.choice(GOOD if y == 'pos' else BAD)} {i}" for i, y in enumerate(labels)
    ]
    return {"review": texts, "stars": labels}


TABLE = table()
TEXTS, LABELS = TABLE["review"], TABLE["stars"]


def frames() -> dict[str, object]:
    """By name, the same table in every shape whose library is installed."""
    found: dict[str, object] = {
        "dict": TABLE,
        "records": [dict(zip(TABLE, row)) for row in zip(*TABLE.values())],
        "pairs": list(zip(TEXTS, LABELS)),
        "array": np.array(list(zip(TEXTS, LABELS))),
        "structured": np.array(
            list(zip(TEXTS, LABELS)), dtype=[("review", "U40"), ("stars", "U3")]
        ),
    }
    for name, make in {
        "pandas": lambda module: module.DataFrame(TABLE),
        "polars": lambda module: module.DataFrame(TABLE),
        "pyarrow": lambda module: module.table(TABLE),
    }.items():
        try:
            found[name] = make(__import__(name))
        except ImportError:
            found[name] = None
    return found


FRAMES = frames()


@pytest.mark.parametrize("name", FRAMES)
def test_every_kind_of_table_is_read_alike(name) -> None:
    if FRAMES[name] is None:
        pytest.skip(f"{name} is not installed")
    plan = open_plan(columns_of(FRAMES[name]), unspool.config.DataConfig(), None)
    assert plan.task == "classify"
    assert [row.values for row in plan.rows()] == list(zip(TEXTS, LABELS))
    assert [row.line for row in plan.rows()][:3] == [1, 2, 3]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_frame_trains_evaluates_and_predicts(kind, tmp_path) -> None:
    library = pytest.importorskip(kind)
    frame = library.DataFrame(TABLE)
    notes: list[str] = []
    run = unspool.train(
        frame, text="review", label="stars", out=tmp_path / "r", note=notes.append, **SMALL
    )
    assert notes[0] == (
        "DataFrame: rows in memory, text in column 'review', label in 'stars' -> classify"
    )
    assert run.evaluate(frame).count == len(TEXTS)
    assert run.evaluate(TEXTS, LABELS).metrics == run.evaluate(frame).metrics
    answers = run.predict(frame)
    assert [answer.text for answer in answers] == TEXTS
    assert [a.label for a in run.predict(frame["review"])] == [a.label for a in answers]
    other = library.DataFrame({"other": ["fine"], "review": ["dull"]})
    assert run.predict(other, text="other")[0].text == "fine"
    assert run.predict(other)[0].text == "dull"
    record = json.loads((tmp_path / "r" / "config.json").read_text())["data"]["train"]
    assert record["path"] == "DataFrame"
    assert record["memory"]
    assert len(record["sha256"]) == 64


def test_lists_of_texts_and_labels(tmp_path) -> None:
    run = unspool.train(
        TEXTS, LABELS, valid=(TEXTS[:10], LABELS[:10]), test=TABLE, out=tmp_path / "r", **SMALL
    )
    assert run.report_part == "test"
    assert run.report.count == len(TEXTS)
    assert unspool.check(TEXTS, LABELS).to_json()["task"] == "classify"
    numbers = unspool.train(
        np.array(TEXTS), np.array([y == "pos" for y in LABELS]), out=tmp_path / "n", **SMALL
    )
    assert numbers.task.labels == ["false", "true"]
    rows = unspool.compare(TEXTS, LABELS, models=["elman"], out=tmp_path / "c", **SMALL)
    assert {row.model for row in rows} == {"elman", "linear", "majority"}


def test_a_run_of_named_columns_takes_lists_too(tmp_path) -> None:
    run = unspool.train(TABLE, text="review", label="stars", out=tmp_path / "r", **SMALL)
    assert run.evaluate(TEXTS, LABELS).count == len(TEXTS)


def test_other_tasks_read_memory(tmp_path) -> None:
    words, tags = [["Anna", "met", "Bert"]] * 20, [["B-PER", "O", "B-PER"]] * 20
    tagger = unspool.train(words, tags, out=tmp_path / "t", character_hidden=4, **SMALL)
    assert tagger.task.name == "tag"
    assert tagger.evaluate(words, tags).to_json()["task"] == "tag"
    plans = {
        "translate": (TEXTS, TEXTS),
        "regress": (TEXTS, list(range(len(TEXTS)))),
        "pretrain": (TEXTS,),
        "generate": (TEXTS,),
    }
    for task, data in plans.items():
        plan = open_plan(columns_of(*data), unspool.config.DataConfig(), task)
        assert len(list(plan.rows())) == len(TEXTS)
    assert open_plan(columns_of(TEXTS), unspool.config.DataConfig()).task == "generate"


def test_missing_texts_are_left_out_and_counted(tmp_path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE)
    frame.loc[4, "review"] = None
    frame.loc[7, "review"] = float("nan")
    frame.loc[9, "stars"] = None
    notes: list[str] = []
    run = unspool.train(frame, out=tmp_path / "r", note=notes.append, **SMALL)
    assert "2 rows with an empty text left out, the first at DataFrame, row 5" in notes
    answers = run.predict(frame[:6])
    assert [answer.warning for answer in answers] == [None] * 4 + ["empty", None]


def test_the_cache_knows_values_in_memory() -> None:
    data = unspool.config.DataConfig()

    def digest(values):
        return open_plan(columns_of(values), data, "classify").table.sha256

    assert digest(TABLE) == digest([dict(zip(TABLE, row)) for row in zip(*TABLE.values())])
    assert digest(TABLE) != digest({**TABLE, "stars": LABELS[::-1]})
    assert digest(TABLE) != digest({"text": TEXTS, "label": LABELS})


def test_a_run_on_memory_resumes_with_the_same_data(tmp_path) -> None:
    out = tmp_path / "r"
    unspool.train(TEXTS, LABELS, out=out, **SMALL)
    with pytest.raises(RunError, match=r"were values in memory \(list\).*Give them again"):
        unspool.train(resume=True, out=out)
    with pytest.raises(RunError, match="the train data have changed"):
        unspool.train(TEXTS[:-1], LABELS[:-1], resume=True, out=out)
    assert unspool.train(TEXTS, LABELS, resume=True, out=out).report is not None


def test_the_page_begins_with_words_where_the_data_are_gone(tmp_path) -> None:
    run = unspool.train(TEXTS, LABELS, out=tmp_path / "r", **SMALL)
    assert run.subject().example


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        (["a", "b"], ["x"], r"^2 texts have 1 labels. Give each text one label$"),
        ([], None, "^list: holds no rows"),
        ({}, None, "^dict: holds no rows"),
        ({"a": [1], "b": [1, 2]}, None, "^dict: the columns are of different length: 1 and 2"),
        (5, None, "a int cannot be read as data; got 5"),
        ({"a", "b"}, None, "a set has no order"),
        ("reviews.csv", ["x"], "reviews.csv: labels are given with a list of texts"),
        ({"t": ["a"]}, ["x"], "dict: labels are given with a list of texts"),
        (["a"], "x", "labels are a list, one for each text; got 'x'"),
        ([{"text": "a"}, 5], None, "list, row 2: is not a dict"),
        (["a", 5, "b"], ["x", "y", "x"], r"list, row 2: field 'text' is not a string; got 5"),
        (["a", b"b", "c"], ["x", "y", "x"], "list, row 2: field 'text' is not a string; got b'b'"),
    ],
)
def test_bad_values_in_memory(data, labels, message, tmp_path) -> None:
    with pytest.raises(DataError, match=message):
        unspool.train(data, labels, out=tmp_path / "r", **SMALL)
    assert not (tmp_path / "r").exists()


def test_bad_frames() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="two columns have the same name; got 'a'"):
        columns_of(pandas.DataFrame([["x", "y"]], columns=["a", "a"]))
    polars = pytest.importorskip("polars")
    with pytest.raises(DataError, match="a lazy frame holds no values yet"):
        columns_of(polars.LazyFrame(TABLE))
    with pytest.raises(DataError, match=r"has no field 'revue'.*Did you mean 'review'"):
        open_plan(columns_of(pandas.DataFrame(TABLE)), unspool.config.DataConfig(text="revue"))


class Interchange:
    """A frame of another library: nothing but the protocols."""

    def __init__(self, frame, protocol) -> None:
        setattr(self, protocol, getattr(frame, protocol))


@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__dataframe__"])
def test_the_protocols_of_frames(protocol) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    found = columns_of(Interchange(pyarrow.table(TABLE), protocol))
    assert found.values == TABLE
