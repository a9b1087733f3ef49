"""Settings: a run takes those that it reads and refuses all others, for every task and model."""

from __future__ import annotations

import sys

import pytest
from every_model import (
    AUDIO,
    AUDIO_CASES,
    IMAGE,
    IMAGE_CASES,
    MUSIC,
    MUSIC_CASES,
    NEEDED,
    PAIR_CASES,
    SMALL,
    USUAL,
    USUAL_SERIES,
    USUAL_STROKES,
    VARIANTS,
    VIDEO,
    VIDEO_CASES,
    Case,
    write_data,
)

import unspool
from small_tasks import read_by
from unspool.api.settings import refuse_unread_settings
from unspool.config import Config, Section, declare, sections, settings
from unspool.errors import ConfigError
from unspool.tasks import TASKS
from unspool.tasks.inputs import INPUTS
from unspool.tasks.settings import EVERY_RUN, grouped_settings, read_settings, unread_reason


def of_inputs() -> list[Case]:
    cases = [*USUAL, *USUAL_SERIES, *USUAL_STROKES]
    cases += [Case(t, m, tuple({**AUDIO, **s}.items())) for t, m, s in AUDIO_CASES]
    cases += [Case(t, m, tuple({**IMAGE, **s}.items())) for t, m, s in IMAGE_CASES]
    cases += [Case(t, m, tuple({**VIDEO, **s}.items())) for t, m, s in VIDEO_CASES]
    cases += [Case(t, m, tuple({"input": "pair", **s}.items())) for t, m, s in PAIR_CASES]
    cases += [Case(t, m, tuple(MUSIC.items())) for t, m in MUSIC_CASES]
    cases += [Case(t, m, tuple(s.items())) for t in VARIANTS for m, s in VARIANTS[t]]
    return list({str(case): case for case in cases}.values())


CASES = of_inputs()

# Settings that a run reads only in certain cases, which the small runs below are not.
RARE = {
    "data.bad_files",  # damaged files
    "data.channels",  # numbers of several channels in one cell
    "data.columns",
    "data.decimal",  # tables of text
    "data.header",
    "data.label_separator",  # several labels a row
    "train.thresholds",
    "data.missing",  # rows without an answer
    "data.pattern",  # folders
    "data.sheet",  # Excel files
    "data.source",  # tables of pairs
    "data.target",
    "tokenizer.split",  # words
    "train.least_steps",  # epochs=0
    "train.epochs",  # max_steps
    "train.max_bad_steps",  # losses that are not finite
}
RARE_OF_TASK = {
    "answer": declare(model="attention context_gate input_feeding tied"),  # answer=write
    "handwrite": declare(tokenizer="lowercase min_count normalize vocab"),  # conditional=true
    "tag": declare(train="label_smoothing"),  # output=softmax
    "transcribe": declare(model="attention context_gate input_feeding tied"),  # not objective=ctc
}


@pytest.mark.parametrize("task", TASKS)
def test_a_setting_is_refused_where_nothing_reads_it(task: str) -> None:
    for case in [case for case in CASES if case.task == task]:
        config = case.config()
        read = set(read_settings(config))
        grouped = [name for rows in grouped_settings(config).values() for name, _, _ in rows]
        assert sorted(grouped) == sorted(read)
        for name, _ in settings():
            if name in read:
                refuse_unread_settings({name: "x"}, None, [config])
                continue
            with pytest.raises(ConfigError, match="Leave it out") as caught:
                refuse_unread_settings({name: "x"}, None, [config])
            assert f"{name} {unread_reason(name, config)}" in str(caught.value).replace("'", "")


@pytest.fixture
def reads(monkeypatch) -> set[str]:
    """The settings that code has asked a section for."""
    names = {section: name for name, section in sections(Config).items()}
    seen: set[str] = set()

    def spy(self, name):
        fields = type(self).__pydantic_fields__ if type(self) in names else {}
        if name in fields and sys._getframe(1).f_code.co_name != "_value":  # the checker itself
            seen.add(f"{names[type(self)]}.{fields[name].alias or name}")
        return super(Section, self).__getattribute__(name)

    monkeypatch.setattr(Section, "__getattribute__", spy)
    return seen


def one_of_each() -> list[Case]:
    """A case for each task and kind of input."""
    kinds = {}
    for case in CASES:
        kinds.setdefault((case.task, dict(case.settings).get("input", "auto")), case)
    return list(kinds.values())


@pytest.mark.parametrize("case", one_of_each(), ids=str)
def test_what_is_taken_is_read(case: Case, reads: set[str], tmp_path) -> None:
    """A small training asks for every setting that it takes."""
    data = write_data(case.config(), tmp_path / "data")
    quick = {"epochs": 1, "patience": 0, "threads": 1, "valid_share": 0.2, "max_steps": 3}
    wanted = {**SMALL, **quick, "eval_steps": 2, **NEEDED.get(case.task, {}), **dict(case.settings)}
    wanted = read_by(case.config(), wanted)
    reads.clear()
    run = unspool.train(
        data, task=case.task, model=case.model, out=tmp_path / "run", quiet=True, **wanted
    )
    taken = set(read_settings(run.config))
    assert taken - reads - RARE - RARE_OF_TASK.get(case.task, set()) == set()


def test_settings_of_other_tasks(tmp_path) -> None:
    data = tmp_path / "reviews.csv"
    data.write_text("text,label\n" + "good,yes\nbad,no\n" * 20)
    for setting in ({"hops": 3}, {"mixture": 5}, {"horizon": 9}, {"bands": 3}, {"copy": True}):
        with pytest.raises(ConfigError, match=f"{next(iter(setting))} is a setting of"):
            unspool.train(data, out=tmp_path / "run", **setting)
        assert not (tmp_path / "run").exists()
    with pytest.raises(
        ConfigError,
        match=r"data.horizon is a setting of forecast; this is classify of text; got 9. Leave it"
        r" out; `unspool settings",
    ):
        unspool.train(data, out=tmp_path / "run", horizon=9)


def test_settings_of_a_file(tmp_path) -> None:
    data, file = tmp_path / "reviews.csv", tmp_path / "run.toml"
    data.write_text("text,label\n" + "good,yes\nbad,no\n" * 20)
    file.write_text("hidden = 8\n[data]\nhorizon = 9\n")
    with pytest.raises(ConfigError, match=r"run.toml: data.horizon is a setting of forecast"):
        unspool.train(data, config=str(file), out=tmp_path / "run")


def test_auto_takes_what_one_candidate_reads(tmp_path) -> None:
    data = tmp_path / "reviews.csv"
    data.write_text("text,label\n" + "good,yes\nbad,no\n" * 20)
    with pytest.raises(ConfigError, match=r"data.horizon is a setting of forecast"):
        unspool.train(data, model="auto", out=tmp_path / "run", filters=4, horizon=9)
    with pytest.raises(ConfigError, match=r"model.heads is read only with"):
        unspool.compare(data, models=["gru", "cnn"], out=tmp_path / "c", heads=2)


def test_every_setting_has_an_owner_or_is_read_by_every_run() -> None:
    declared = [*(task.settings for task in TASKS.values()), *(k.settings for k in INPUTS.values())]
    assert frozenset(name for name, _ in settings()) - frozenset().union(*declared) == EVERY_RUN
    assert frozenset().union(*declared) <= {name for name, _ in settings()}
