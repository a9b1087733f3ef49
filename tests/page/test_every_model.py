"""Every kind of model has a page: each of its views is given what it asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from insight_models import MODELS, TEXT, make
from unspool.page.answers import ANSWERS, DEFAULTS, answer, encoded
from unspool.page.saved import WEB
from unspool.page.subject import Subject
from unspool.page.views import VIEWS, views_of
from unspool.tasks.examples import Example


@pytest.mark.parametrize("name", MODELS)
def test_views_get_their_answers(name: str, tmp_path: Path) -> None:
    task, model = make(name)
    subject = Subject(task, model, tmp_path, tmp_path / "metrics.jsonl", [Example(TEXT)])
    views = views_of(subject)
    assert {"positions", "neighbours"} <= set(views)
    assert ("saliency" in views) == (task.name != "elmo")
    for view in views:
        for asked, given in VIEWS[view].wants(subject, TEXT):
            assert json.loads(encoded(answer(subject, asked, given))), (view, asked)


def test_every_view_and_answer_is_complete() -> None:
    assert ANSWERS.keys() == DEFAULTS.keys()
    drawn = {path.stem for path in (WEB / "views").glob("*.js")}
    assert drawn == VIEWS.keys()
