"""--model auto: what is tried and kept, and an ensemble as a run like any other."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import unspool
from unspool.api import auto
from unspool.api import held_out as held_out_rows
from unspool.api import tried as tried_models
from unspool.api.auto import seconds_of
from unspool.api.tried import TriedModel, best_mean, mean_metrics, standard_error
from unspool.errors import ConfigError, UserError
from unspool.tasks import TASKS
from unspool.training.signals import Interrupted
from unspool.training.trainer import Pace, Paused, Trainer

SMALL_CNN = {"embedding": 8, "filters": 4, "layers": 1, "epochs": 1, "threads": 1, "quiet": True}
SMALL = {**SMALL_CNN, "hidden": 8}
WORDS = {"yes": ["good", "fine", "great"], "no": ["bad", "dull", "poor"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("auto") / "some.csv"
    rows = []
    for i in range(120):
        label = ("yes", "no")[i % 2]
        rows.append(f"the {rng.choice(WORDS[label])} film {i % 7},{label},{i % 2 + i / 1000}")
    path.write_text("text,label,stars\n" + "\n".join(rows) + "\n")
    return path


QUICK = ["majority", "linear", "nb_linear"]


def few(monkeypatch, networks=("cnn", "gru")) -> None:
    from unspool.tasks.document import DocumentTask

    monkeypatch.setattr(DocumentTask, "candidates", classmethod(lambda cls: list(networks)))
    monkeypatch.setattr(tried_models, "HOPELESS", 2.0)  # none is left out


def train(data, out, **settings):
    return unspool.train(data, model="auto", budget="60s", out=out, **{**SMALL, **settings})


def train_cnn(data, out, **settings):
    return unspool.train(data, model="auto", budget="60s", out=out, **{**SMALL_CNN, **settings})


def test_the_best_is_kept(data, tmp_path, monkeypatch) -> None:
    few(monkeypatch)
    notes: list[str] = []
    run = train(data, tmp_path / "run", label="label", note=notes.append)
    tried = json.loads((tmp_path / "run" / "auto.json").read_text())["models"]
    assert [own["model"] for own in tried][:5] == [*QUICK, "cnn", "gru"]
    assert tried[5]["model"] in ("cnn-seed2", "gru-seed2")
    best = max(tried, key=lambda own: (own["valid"]["accuracy"], -own["valid"]["loss"]))
    assert best["kept"]
    assert any(line.startswith("tried") for line in notes)
    loaded = unspool.load(tmp_path / "run")
    assert loaded.predict("a good film")[0].label == "yes"
    assert set(run.comparison.baselines) >= {"majority"}
    assert run.report.metrics["accuracy"] == loaded.report.metrics["accuracy"]
    assert not list(run.path.rglob("checkpoints")), "they take several times the space of weights"
    for name in ("linear", "cnn"):
        assert unspool.load(run.path / "tried" / name / "1").predict("a good film")


@pytest.fixture(scope="module", params=["classify", "regress"])
def ensemble(request, data, tmp_path_factory):
    """The mean of a linear model and two networks, whether it is better or not."""
    label = {"classify": "label", "regress": "stars"}[request.param]
    out = tmp_path_factory.mktemp("ensemble") / "run"
    with pytest.MonkeyPatch.context() as patched:
        few(patched)
        kept = ("linear", "cnn", "gru")
        patched.setattr(auto, "best_mean", lambda tried: [t for t in tried if t.name in kept])
        patched.setattr("unspool.api.train.folds_for", lambda *known, budget: 0)
        return train(data, out, task=request.param, label=label, test_share=0.2)


def test_an_ensemble_is_a_run_like_any_other(ensemble, data, tmp_path) -> None:
    assert ensemble.config.model_name == "ensemble"
    assert [own.model_name for own in ensemble.config.members] == ["linear", "cnn", "gru"]
    copy = tmp_path / "copy"
    shutil.copytree(ensemble.path, copy)
    shutil.rmtree(copy / "tried")
    loaded = unspool.load(copy)
    texts = ["a good film", "", "the dull film 3", "unheard words"]
    together = [own.to_json() for own in loaded.predict(texts)]
    assert together == [own.to_json() for own in ensemble.predict(texts)]
    alone = [loaded.predict(text)[0].to_json() for text in texts]
    for one, other in zip(alone, together):
        for key in ("probabilities", "numbers"):
            for name, value in one.get(key, {}).items():
                assert value == pytest.approx(other[key][name], rel=1e-5, abs=1e-6)
    label = {"classify": "label", "regress": "stars"}[loaded.task.name]
    found = loaded.evaluate(data, label=label).metrics
    wanted = ensemble.evaluate(data, label=label).metrics
    assert found == wanted
    assert "ensemble" in repr(loaded)
    assert "linear" in repr(loaded.summary())
    inside = loaded.inside
    assert inside.config.model_name == "cnn", "the first member that is a network"
    alone = unspool.load(ensemble.path / "tried" / "cnn").explain("a good film")
    assert loaded.explain("a good film").values == pytest.approx(alone.values, abs=1e-6)
    assert [str(answer) for answer in inside.predict(texts)]


def test_it_answers_with_the_mean_of_its_members(ensemble) -> None:
    texts = ["a good film", "the dull film 3", "unheard words"]
    runs = [unspool.load(ensemble.path / "tried" / name) for name in ("linear", "cnn", "gru")]
    if ensemble.task.name == "regress":
        each = [[own.numbers["stars"] for own in run.predict(texts)] for run in runs]
        own = [answer.numbers["stars"] for answer in ensemble.predict(texts)]
        np.testing.assert_allclose(own, np.mean(each, 0), rtol=1e-5, atol=1e-6)
        return
    ensemble.task.decision.temperature, kept = 1.0, ensemble.task.decision.temperature
    each = [[list(own.probabilities.values()) for own in run.predict(texts)] for run in runs]
    own = [list(answer.probabilities.values()) for answer in ensemble.predict(texts)]
    ensemble.task.decision.temperature = kept
    np.testing.assert_allclose(own, np.mean(each, 0), rtol=1e-5, atol=1e-6)


def held_out(run, name: str, right: int, sure: float, rows: int = 100) -> TriedModel:
    """A model whose first `right` rows are right; all with the probability `sure`."""
    truth = np.arange(rows) % 2
    given = np.where(np.arange(rows) < right, truth, 1 - truth)
    scores = np.log(np.where(given[:, None] == np.arange(2), sure, 1 - sure)).astype(np.float32)
    metrics = type(run.task)(run.task.config, run.task.fields).figures(scores, truth)
    return TriedModel(name, [run], scores, truth, metrics, 1.0)


def test_the_loss_decides_between_means_that_are_as_good(ensemble) -> None:
    """80 of 100 rows are right, with a standard error of 4."""
    if ensemble.task.name == "regress":
        pytest.skip("an error is not a share of the rows")
    run = unspool.load(ensemble.path / "tried" / "linear")
    best = held_out(run, "best", 80, 0.9)
    assert best.metrics["accuracy"] == 0.8

    def kept(*others: TriedModel) -> list[str]:
        return [own.name for own in best_mean([best, *others])]

    assert kept(held_out(run, "calibrated", 80, 0.8)) == ["calibrated"]
    last = held_out(run, "last", 79, 0.9)
    flipped = replace(last, name="flipped", scores=np.roll(last.scores, 40, axis=0))
    assert kept(flipped) == ["best", "flipped"]  # wrong elsewhere
    far = held_out(run, "far", 10, 0.99)
    assert kept(far) == ["best"]
    assert standard_error(0.8, 100) == pytest.approx(0.04)
    assert standard_error(-1.3, 100) == 0.0


def test_a_budget_is_a_time() -> None:
    assert [seconds_of(own) for own in ("90", "90s", "5m", "1.5h", 20)] == [90, 90, 300, 5400, 20]
    for wrong in ("soon", "0", "-3", "5 days", "1.2.3"):
        with pytest.raises(ConfigError, match="budget= is a time"):
            seconds_of(wrong)


def test_no_time_for_networks(data, tmp_path, monkeypatch) -> None:
    few(monkeypatch)
    monkeypatch.setattr(auto, "LEAST", 1e9)
    notes: list[str] = []
    run = train(data, tmp_path / "run", label="label", note=notes.append)
    assert {run.config.model_name, *(own.model_name for own in run.config.members)} <= {
        "linear",
        "nb_linear",
        "ensemble",
    }
    assert "— cnn: no time left" in notes


def test_what_it_is_not_for(data, book, tmp_path) -> None:
    with pytest.raises(ConfigError, match="budget= is for model="):
        unspool.train(data, model="gru", budget="5m", out=tmp_path / "a", **SMALL)
    with pytest.raises(ConfigError, match=r"is for new models of .*, without folds"):
        unspool.train(book, task="generate", model="auto", out=tmp_path / "b", **SMALL)
    with pytest.raises(ConfigError, match="needs a validation part"):
        train(data, tmp_path / "c", task="regress", label="stars", valid_share=0)


def test_few_rows_are_scored_by_models_of_other_folds(data, tmp_path, monkeypatch) -> None:
    few(monkeypatch, ["cnn"])
    monkeypatch.setattr(auto, "best_mean", lambda tried: [tried[1], tried[3]])
    run = train_cnn(data, tmp_path / "run", label="label")
    record = json.loads((run.path / "auto.json").read_text())
    assert record["folds"] == 5
    names = [own.model_name for own in run.config.members]
    assert names == ["linear"] + ["cnn"] * 5, "what takes seconds is fitted to all rows"
    runs = [unspool.load(run.path / "tried" / "cnn" / str(fold)) for fold in range(1, 6)]
    held = [set(map(int, fold_rows(own, data))) for own in runs]
    assert sum(map(len, held)) == len(set.union(*held)) == 120
    assert run.report_part == "folds"
    assert run.report.metrics["accuracy"] == pytest.approx(1.0, abs=0.2)
    members = [unspool.load(run.path / "tried" / "linear" / "all"), *runs]
    loaded = unspool.load(run.path)
    loaded.task.decision.temperature = 1.0
    texts = ["a good film", "the dull film 3"]
    each = [[list(own.probabilities.values()) for own in one.predict(texts)] for one in members]
    mean = [list(own.probabilities.values()) for own in loaded.predict(texts)]
    weighted = np.average(each, 0, weights=[5, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(mean, weighted, rtol=1e-5, atol=1e-6)
    assert "trained on this very file" in " ".join(loaded.evaluate(data).notes)
    notes: list[str] = []
    again = unspool.train(resume=True, out=run.path, note=notes.append, quiet=True)
    assert notes == ["the search is finished"]
    assert [own.to_json() for own in again.predict(texts)] == [
        own.to_json() for own in unspool.load(run.path).predict(texts)
    ]


@pytest.fixture
def ticking(monkeypatch):
    """A clock by which each update of a network takes a second, and all else no time."""
    seconds, step = [0.0], Trainer._step

    def slow(self) -> bool:
        seconds[0] += 1
        return step(self)

    monkeypatch.setattr(Trainer, "_step", slow)
    monkeypatch.setattr(auto, "processor_seconds", lambda: seconds[0])


@pytest.mark.parametrize("networks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("folds", [0, 5])
def test_the_networks_use_the_budget_up(networks, folds) -> None:
    share, reached, spent = auto.share_of(600.0, networks, folds), [0.0] * networks, 0.0
    pause, alive = share / 2 ** int(np.ceil(np.log2(networks))), networks
    while alive > 1:
        for i in range(alive):
            spent, reached[i] = spent + pause - reached[i], pause
        alive, pause = -(-alive // 2), 2 * pause
    spent += share - reached[0] + share * max(0, folds - 1)
    assert spent == pytest.approx(600)
    assert pause == pytest.approx(share)


def test_the_worse_half_is_stopped_early(data, tmp_path, monkeypatch, ticking) -> None:
    """What is stopped is not paid for again, and its time is known."""
    few(monkeypatch, ["cnn", "gru", "lstm", "transformer"])
    monkeypatch.setattr(auto, "far_better", lambda tried, run: None)
    notes: list[str] = []
    run = unspool.train(
        data, model="auto", budget="400s", out=tmp_path / "run", label="label",
        note=notes.append, **{**SMALL, "epochs": 1000, "patience": 0},
    )  # fmt: skip
    record = json.loads((run.path / "auto.json").read_text())
    stopped = [own for own in record["models"] if own["stopped"]]
    ended = [own for own in record["models"] if not own["stopped"]]
    assert len(stopped) == 3
    assert [own["model"] for own in ended][:3] == QUICK
    best = ended[3]["seconds"]
    share = auto.share_of(400 - sum(own["seconds"] for own in ended[:3]), 4, 5)
    assert best == pytest.approx(5 * share, abs=5)
    shares = sorted(own["seconds"] / share for own in stopped)
    assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.03)
    assert record["seconds"] == pytest.approx(400, abs=10)
    assert sum(line.endswith("  stopped early") for line in notes) == 3
    for own in stopped:
        assert not (run.path / "tried" / own["model"] / "2").exists()
        log = (run.path / "tried" / own["model"] / "1" / "metrics.jsonl").read_text()
        assert "valid_accuracy" in log.splitlines()[-1]


def test_a_pause_changes_no_weights(data, tmp_path, monkeypatch, ticking) -> None:
    settings = {"label": "label", "model": "gru", "baseline": False, "keep": "last", "epochs": 3,
                "patience": 0, "batch": 16, "hidden": 8, "embedding": 8, "threads": 1,
                "quiet": True}  # fmt: skip
    whole = unspool.train(data, out=tmp_path / "whole", **settings)
    real = Trainer.__init__

    def pausing(self, *rest, **more) -> None:
        real(self, *rest, **more)
        self.pace = Pace(auto.processor_seconds, pauses.pop())

    pauses = [0.0, 8.0, 3.0]
    monkeypatch.setattr(Trainer, "__init__", pausing)
    for attempt in range(2):
        with pytest.raises(Paused) as caught:
            unspool.train(
                None if attempt else data, out=tmp_path / "run", resume=bool(attempt),
                **({"quiet": True} if attempt else settings),
            )  # fmt: skip
        assert caught.value.metrics["accuracy"] == caught.value.rank[0]
        assert caught.value.seconds == pytest.approx((3, 8)[attempt], abs=3)
    run = unspool.train(resume=True, out=tmp_path / "run", quiet=True)
    for name, weights in whole.model.state_dict().items():
        assert weights.equal(run.model.state_dict()[name]), name


@pytest.mark.parametrize("task", ["tag", "forecast"])
def test_tasks_without_a_mean_keep_the_best(task, tmp_path, monkeypatch) -> None:
    kind = TASKS[task]
    networks = {"tag": ["bilstm", "cnn"], "forecast": ["gru", "cnn"]}[task]
    monkeypatch.setattr(kind, "candidates", classmethod(lambda cls: networks))
    more: dict[str, object] = {}
    if task == "tag":
        lines = [f"the DET\n{w} NOUN\nruns VERB\n" for w in ("dog", "cat", "bird") * 20]
        (tmp_path / "a.conll").write_text("\n".join(lines))
        path = tmp_path / "a.conll"
    else:
        path = tmp_path / "a.csv"
        values = [f"{np.sin(i / 3) + i % 7:.4f}" for i in range(400)]
        path.write_text("y\n" + "\n".join(values) + "\n")
        more = {"horizon": 4, "window": 12}
    notes: list[str] = []
    run = unspool.train(
        path, task=task, model="auto", budget="60s", out=tmp_path / "run", note=notes.append,
        hidden=8, embedding=8, epochs=1, threads=1, quiet=True, **more,
    )  # fmt: skip
    record = json.loads((run.path / "auto.json").read_text())
    metric = run.task.metric
    ended = [own for own in record["models"] if not own["stopped"]]
    best = max(ended, key=lambda own: metric.rank(own["valid"]))
    assert [own["model"] for own in record["models"] if own["kept"]] == [best["model"]]
    assert run.config.model_name == best["model"].removesuffix("-seed2")
    assert run.comparison.conclusion.startswith(("use ", "train "))
    others = {own["model"] for own in ended} - {best["model"]}
    assert set(run.comparison.baselines) == others | run.comparison.references
    loaded = unspool.load(run.path)
    assert loaded.report.metrics == run.report.metrics


def fold_rows(run, data):
    """The rows of the file that a fold was validated on."""
    from unspool.tasks.planner import open_plan

    plans = {"train": open_plan(str(data), run.config.data, run.config.task)}
    return type(run.task).load_corpus(run.config, plans).parts["valid"].rows


def test_a_label_with_one_row_leaves_the_choice_to_the_validation_part(tmp_path, monkeypatch):
    few(monkeypatch, ["cnn"])
    texts = ["a good film", "a bad film"] * 30 + ["an odd film"]
    run = unspool.train(
        texts, ["yes", "no"] * 30 + ["odd"], model="auto", budget="20s", out=tmp_path / "run",
        **SMALL_CNN,
    )  # fmt: skip
    assert json.loads((run.path / "auto.json").read_text())["folds"] == 0


def test_a_stopped_search_goes_on(data, tmp_path, monkeypatch) -> None:
    few(monkeypatch, ["cnn", "gru"])
    whole = train(data, tmp_path / "whole", label="label")
    real, calls = auto.start_training, []

    def stop_at_the_ninth(home, *rest, **more):
        calls.append(home.path)
        if len(calls) == 9:
            raise Interrupted(2, home.path, 7)
        return real(home, *rest, **more)

    monkeypatch.setattr(auto, "start_training", stop_at_the_ninth)
    with pytest.raises(Interrupted, match=r"resume=True, out=.*stopped\"\)$"):
        train(data, tmp_path / "stopped", label="label")
    with pytest.raises(UserError):
        unspool.load(tmp_path / "stopped")
    notes: list[str] = []
    run = unspool.train(resume=True, out=tmp_path / "stopped", note=notes.append, quiet=True)
    tried = [json.loads((own.path / "auto.json").read_text()) for own in (whole, run)]
    names = [[own["model"] for own in one["models"]][:4] for one in tried]
    assert names[0] == names[1]
    assert len(calls) == len(set(calls)) + 1  # only the one that was stopped began again
    for model in (None, "auto"):
        again = unspool.train(
            model=model, resume=True, out=tmp_path / "stopped", note=notes.append, quiet=True
        )
        assert notes[-1] == "the search is finished"
        assert again.predict("a good film")[0].label == run.predict("a good film")[0].label


@pytest.fixture
def small_default(monkeypatch):
    """The default network is small, without a setting that would choose it."""
    from unspool.tasks.classify import Classify

    presets = Classify.models()
    presets["bilstm"] = {
        **presets["bilstm"], "model.hidden": 4, "model.embedding": 4, "train.epochs": 1,
        "train.threads": 1, "train.patience": 1, "train.least_steps": 1,
    }  # fmt: skip
    monkeypatch.setattr(Classify, "models", classmethod(lambda cls: presets))


def test_without_a_model_the_best_of_some_is_kept(data, tmp_path, small_default) -> None:
    notes: list[str] = []
    run = unspool.train(data, label="label", out=tmp_path / "run", note=notes.append, quiet=True)
    record = json.loads((run.path / "auto.json").read_text())
    names = ["majority", "linear", "nb_linear", "bilstm"]
    assert notes[1] == (
        f"models: {', '.join(names)}; the best of them is kept, or a mean (--model names one)"
    )
    assert [model["model"] for model in record["models"]] == names[: len(record["models"])]
    assert (record["budget"], record["folds"]) == (None, 5), "12 rows are too few to choose by"
    assert {"linear", "nb_linear"} & {
        run.config.model_name, *(member.model_name for member in run.config.members)
    }  # fmt: skip
    about = [note for note in notes if note.startswith("n-grams: ")]
    assert len(about) == len(set(about)), "what is known of the data is shown once"
    assert run.comparison.conclusion.startswith("use this run, ")
    assert run.comparison.conclusion in (run.path / "README.md").read_text()
    again = unspool.train(resume=True, out=run.path, note=notes.append, quiet=True)
    assert notes[-1] == "the search is finished"
    assert str(again.predict("a good film")[0]) == str(run.predict("a good film")[0])


def with_speakers(path, speakers: str, start: int = 0):
    """Texts whose speaker gives the label of most away, but for new speakers."""
    words = [f"{WORDS[label][i % 3]} {s}{i % 9}" for s in speakers for label in WORDS
             for i in range(start, start + 12)]  # fmt: skip
    labels = [label for _ in speakers for label in WORDS for _ in range(12)]
    names = [s for s in speakers for _ in range(24)]
    rows = [",".join(row) for row in zip(words, labels, names)]
    path.write_text("text,label,speaker\n" + "\n".join(rows) + "\n")
    return path


def test_the_choice_is_for_new_speakers(tmp_path, small_default) -> None:
    data, notes = with_speakers(tmp_path / "a.csv", "abcdef"), list[str]()
    run = unspool.train(data, out=tmp_path / "run", note=notes.append, quiet=True)
    assert (
        "groups: the rows of each speaker are learnt from or held out together, so that the choice"
        ' is for new ones (group="none" ignores them)'
    ) in notes
    assert json.loads((run.path / "auto.json").read_text())["folds"] == 5
    for fold in "12345":
        tried = unspool.load(run.path / "tried/linear" / fold)
        assert tried.config.data.group == "speaker"
        rows = np.load(tried.path / "rows.npy")
        assert len(rows) in (72, 90), "18 of each of four or five speakers of six"
    for model in json.loads((run.path / "auto.json").read_text())["models"]:
        assert (run.path / "tried" / model["model"] / "all").exists() == model["kept"]


@pytest.mark.parametrize("case", ["none", "column", "shared", "unnamed", "three"])
def test_the_data_or_a_setting_decide_about_groups(case, tmp_path, small_default) -> None:
    data, notes, more = with_speakers(tmp_path / "a.csv", "abcdef"), list[str](), {}
    if case == "three":
        data = with_speakers(tmp_path / "a.csv", "abc")
    if case in ("none", "column"):
        more["group"] = {"none": "none", "column": "label"}[case]
    if case == "shared":
        more["test"] = with_speakers(tmp_path / "b.csv", "fg", 12)
    if case == "unnamed":
        more["test"] = tmp_path / "b.csv"
        more["test"].write_text("text,label\ngood new,yes\nbad new,no\n")
    if case == "column":
        with pytest.raises(UserError):  # a label in the held-out group alone
            unspool.train(data, out=tmp_path / "run", note=notes.append, quiet=True, **more)
        return
    run = unspool.train(data, out=tmp_path / "run", note=notes.append, quiet=True, **more)
    taken = any(note.startswith("groups: ") for note in notes)
    assert taken == (case == "three")
    if case == "three":
        assert json.loads((run.path / "auto.json").read_text())["folds"] == 3
        assert "3 groups of rows, which say little about a new one" in run.comparison.conclusion


def test_folds_keep_the_last_weights(data, tmp_path, small_default) -> None:
    """The rows of a fold judge its model, so they choose no epoch."""
    run = unspool.train(data, label="label", out=tmp_path / "run", quiet=True)
    assert unspool.load(run.path / "tried/bilstm/1").config.train.keep == "last"


def test_enough_held_out_rows_choose_without_folds(data, tmp_path, small_default) -> None:
    run = unspool.train(data, label="label", out=tmp_path / "run", valid_share=0.5, quiet=True)
    record = json.loads((run.path / "auto.json").read_text())
    assert record["folds"] == 0
    assert [model["model"] for model in record["models"]] == ["majority", *QUICK[1:], "bilstm"]
    best = max(record["models"], key=lambda own: (own["valid"]["accuracy"], -own["valid"]["loss"]))
    assert best["kept"]


@pytest.mark.parametrize(("most", "folds"), [(500, 5), (60, 0)])
def test_some_hundred_held_out_rows_are_folds_where_a_training_is_short(
    most, folds, data, tmp_path, small_default, monkeypatch
) -> None:
    monkeypatch.setattr(held_out_rows, "FEW", 2)
    monkeypatch.setattr(held_out_rows, "SHORT", most)
    run = unspool.train(data, label="label", out=tmp_path / "run", quiet=True)
    assert json.loads((run.path / "auto.json").read_text())["folds"] == folds


def test_a_model_that_is_reliably_worse_is_not_in_a_mean(data, tmp_path, small_default) -> None:
    """Though the mean has a smaller loss."""
    run = unspool.train(data, label="label", out=tmp_path / "run", quiet=True, model="linear")
    best = held_out(run, "best", 90, 0.99)
    for right, kept in ((88, True), (60, False)):
        other = held_out(run, "other", right, 0.6)
        assert mean_metrics([best, other])["loss"] < best.metrics["loss"]
        chosen = [model.name for model in best_mean([best, other])]
        assert ("other" in chosen) == kept


@pytest.mark.parametrize(
    "settings",
    [{"model": "bilstm"}, {"epochs": 1}, {"hidden": 4}, {"folds": 2}, {"valid_share": 0}],
    ids=str,
)
def test_what_names_one_model_trains_one(data, tmp_path, small_default, settings) -> None:
    run = unspool.train(data, label="label", out=tmp_path / "run", quiet=True, **settings)
    assert run.config.model_name == "bilstm"
    assert not (run.path / "auto.json").exists()


def test_a_model_that_is_surely_worse_ends_after_a_fold(
    data, tmp_path, monkeypatch, small_default
) -> None:
    monkeypatch.setattr(tried_models, "paired_interval", lambda one, other: (-0.4, -0.2))
    notes: list[str] = []
    run = unspool.train(data, label="label", out=tmp_path / "run", note=notes.append, quiet=True)
    assert re.search("— bilstm: far behind .*linear on the first fold, left out", "\n".join(notes))
    assert [path.name for path in (run.path / "tried" / "bilstm").iterdir()] == ["1"]


def test_better_by_chance_goes_on(data, tmp_path, small_default) -> None:
    run = unspool.train(data, label="label", out=tmp_path / "run", quiet=True, model="linear")
    tried = [held_out(run, "best", 80, 0.9)]
    worse = SimpleNamespace(task=SimpleNamespace(metric=run.task.metric))

    def far(right: int) -> bool:
        model = held_out(run, "", right, 0.9)
        models = iter([model, tried[0]])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TriedModel, "of", classmethod(lambda cls, *rest: next(models)))
            return tried_models.far_better(tried, worse) is not None

    assert far(50)
    assert not far(78)
    assert tried_models.far_better([], worse) is None
