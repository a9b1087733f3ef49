"""Every task's answers print themselves: as text, as rows under a header, as JSON."""

from __future__ import annotations

import json

import pytest

import unspool
from unspool.tasks import TASKS, Answer

ITEMS = {
    "classifier": ["a great film", "", 'odd "text",\twith\nlines'],
    "tagger": ["Anna met Ulm .", ["Bert", "saw", "Bern"], ""],
    "translator": ["red dog", "", "blue cat"],
    "writer": ["the film ", "a "],
    "masked": ["the <mask> was good", "a <mask> <mask>"],
}


@pytest.fixture(scope="module")
def masked(book, tmp_path_factory):
    out = tmp_path_factory.mktemp("masked") / "run"
    small = {"hidden": 8, "heads": 2, "layers": 1, "threads": 1, "max_steps": 2}
    return unspool.train(book, task="pretrain", out=out, **small).path


@pytest.mark.parametrize("name", ITEMS)
def test_an_answer_prints_itself(name, request) -> None:
    run = unspool.load(request.getfixturevalue(name))
    answers = run.predict(ITEMS[name])
    assert len(answers) == len(ITEMS[name])
    header = answers[0].header()
    for number, answer in enumerate(answers, start=1):
        assert type(answer) is run.task.answer
        assert answer.header() == header
        assert all(len(row) == len(header) for row in answer.rows(number))
        assert not any("\n" in line for line in answer.lines(number))
        assert json.loads(json.dumps(answer.to_json()))
        for lines in answer.formats.values():
            assert all(isinstance(line, str) for line in lines(answer))
    assert repr(answers)
    assert answers._repr_html_().startswith(f"<table><tr><th>{header[0]}</th>")


@pytest.mark.parametrize("name", ITEMS)
def test_streaming_and_defaults_change_nothing(name, request) -> None:
    run = unspool.load(request.getfixturevalue(name))
    options = None if run.task.options is None else run.task.options()
    streamed = list(run.predict_lazily(iter(ITEMS[name]), options))
    assert [a.to_json() for a in streamed] == [a.to_json() for a in run.predict(ITEMS[name])]


def test_a_task_names_its_answer_or_has_none() -> None:
    for task in TASKS.values():
        assert task.answer is None or issubclass(task.answer, Answer)
    assert [name for name, task in TASKS.items() if task.answer is None] == ["elmo"]
