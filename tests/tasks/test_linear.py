"""The linear baseline against scikit-learn: its features, its answers; and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion

import unspool
from unspool.data.part import Part
from unspool.errors import ConfigError, RunError
from unspool.tasks import TASKS
from unspool.tasks.linear import (
    MOST_GROUPS,
    PENALTIES,
    Logistic,
    features,
    fit_linear,
    leave_groups_out,
    log_count_ratios,
)
from unspool.tasks.planner import open_plan

GOOD = ["good", "fine", "great", "lovely", "superb", "warm", "clever", "moving"]
BAD = ["bad", "dull", "poor", "awful", "weak", "cold", "silly", "boring"]
PLAIN = ["the", "a", "film", "story", "it", "was", "and", "of", "actors", "plot", "scene", ",", "."]


def sentences(count: int, seed: int = 0, mixed: float = 0.2) -> tuple[list[str], np.ndarray]:
    """Sentences with more good than bad words, or the other way round."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    texts = []
    for label in labels:
        words = list(rng.choice(PLAIN, rng.integers(3, 12)))
        for _ in range(3):
            own = GOOD if (rng.random() > mixed) == bool(label) else BAD
            words.insert(int(rng.integers(0, len(words) + 1)), str(rng.choice(own)))
        texts.append(" ".join(words))
    return texts, labels


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    texts, labels = sentences(400)
    path = tmp_path_factory.mktemp("linear") / "some.csv"
    rows = [f'"{text}",{"yes" if label else "no"},{label * 2 + len(text) / 50}'
            for text, label in zip(texts, labels)]  # fmt: skip
    path.write_text("text,label,number\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module", params=["classify", "regress"])
def run(request, table, tmp_path_factory):
    label = {"classify": "label", "regress": "number"}[request.param]
    out = tmp_path_factory.mktemp("run") / "run"
    settings = {"task": request.param, "label": label, "threads": 1}
    if request.param == "classify":
        settings["calibrate"] = False
    return unspool.train(table, model="linear", out=out, **settings)


def fitted(table, task, **settings):
    """The task with its parts, before and after fitting."""
    from unspool.api.settings import make_config

    config = make_config(task, "linear", settings={"label": settings.pop("label"), **settings})
    corpus = TASKS[task].load_corpus(config, {"train": open_plan(str(table), config.data, task)})
    return TASKS[task](config, corpus.fields), corpus.parts


def vectorizer(field) -> FeatureUnion:
    """scikit-learn's, with the tokens of the field."""
    words = TfidfVectorizer(
        tokenizer=field.fitted.pieces, token_pattern=None, lowercase=False, ngram_range=(1, 2),
        min_df=2, sublinear_tf=True,
    )  # fmt: skip
    spelling = TfidfVectorizer(
        analyzer="char_wb", lowercase=False, ngram_range=(2, 5), min_df=2, sublinear_tf=True,
        preprocessor=lambda text: " ".join(field.fitted.pieces(text)),
    )  # fmt: skip
    return FeatureUnion([("words", words), ("spelling", spelling)])


def texts_of(part) -> list[str]:
    return [text for (text,) in part.raw(np.arange(len(part)), ["text"])]


def test_features_are_those_of_scikit_learn(table) -> None:
    task, parts = fitted(table, "classify", label="label")
    union = vectorizer(task.features)
    theirs = {
        "train": union.fit_transform(texts_of(parts["train"])),
        "valid": union.transform(texts_of(parts["valid"])),
    }
    own_names = task.features.names
    words = len(task.features.words)
    names = [f"words__{n}" for n in own_names[:words]]
    names += [f"spelling__{n}" for n in own_names[words:]]
    their_names = list(union.get_feature_names_out())
    assert sorted(names) == sorted(their_names)
    order = [their_names.index(name) for name in names]
    for name, x in theirs.items():
        own = features(parts[name]["text"], task.features)
        np.testing.assert_allclose(own.toarray(), x.toarray()[:, order], atol=1e-12)


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_a_loaded_model_answers_as_scikit_learn(task, run, table) -> None:
    """The whole pipeline of scikit-learn, fitted anew with what was chosen."""
    if run.task.name != task:
        pytest.skip("the other task")
    loaded = unspool.load(run.path)
    made, parts = fitted(table, task, label={"classify": "label", "regress": "number"}[task])
    trials = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    metric, sign = made.metric.name, 1 if made.metric.higher_is_better else -1
    best = max(trials, key=lambda t: (sign * t["metrics"][metric], -t["metrics"]["loss"]))
    union = vectorizer(made.features)
    if best["features"] == "n-grams of words":
        union = union.transformer_list[0][1]
    train, valid = texts_of(parts["train"]), texts_of(parts["valid"])
    x, texts = union.fit_transform(train), [*valid, "", "zzz unheard", "good good GOOD film"]
    if task == "classify":
        oracle = LogisticRegression(C=best["strength"], max_iter=10_000, tol=1e-10)
        oracle.fit(x, parts["train"]["label"].ids)
        theirs = oracle.predict_proba(union.transform(texts))
        own = [list(answer.probabilities.values()) for answer in loaded.predict(texts)]
        # lbfgs stops where the gradient is below 1e-4; its own object is compared below.
        np.testing.assert_allclose(own, theirs, atol=2e-3)
    else:
        field = made.fields["number"]
        y = (parts["train"]["number"].array - field.mean) / field.std
        oracle = Ridge(alpha=1 / best["strength"], solver="sparse_cg", tol=1e-10).fit(x, y)
        theirs = oracle.predict(union.transform(texts)).reshape(len(texts), -1)
        own = [list(answer.numbers.values()) for answer in loaded.predict(texts)]
        np.testing.assert_allclose(own, theirs * field.std + field.mean, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_probabilities_of_the_fitted_object(classes, tmp_path) -> None:
    """To 1e-7, saved and loaded, for two classes and for three."""
    texts, labels = sentences(300)
    rows = [f"{text}\t{'abc'[label + (i % 5 == 0) * (classes - 2)]}"
            for i, (text, label) in enumerate(zip(texts, labels))]  # fmt: skip
    path = tmp_path / "some.tsv"
    path.write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    task, parts = fitted(path, "classify", label="label")
    solver = task.solver()
    task.solver = lambda: solver
    fitting = fit_linear(task, {"train": parts["train"]})  # chosen inside, the last fit is kept
    valid = texts_of(parts["valid"])
    theirs = solver.model.predict_proba(
        features(Part.of(task.fields, text=valid)["text"], task.features)
    )
    run = unspool.train(path, model="linear", out=tmp_path / "run", threads=1, calibrate=False)
    from unspool.training.tensors import save_tensors

    task.save(run.path)
    save_tensors(run.folder.weights, fitting.model.state_dict(), {})
    answers = unspool.load(run.path).predict(valid)
    own = np.array([list(answer.probabilities.values()) for answer in answers])
    assert own.shape[1] == classes
    np.testing.assert_allclose(own, theirs, atol=1e-7)


def test_a_run_like_any_other(run, table) -> None:
    names = {path.name for path in run.path.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "ngrams.json", "README.md",
            "evaluation.json", "metrics.jsonl"} <= names  # fmt: skip
    label = {"classify": "label", "regress": "number"}[run.task.name]
    loaded = unspool.load(run.path)
    again = loaded.evaluate(table, label=label).metrics
    assert again == run.evaluate(table, label=label).metrics
    assert "## Weights" in (run.path / "README.md").read_text()
    assert "linear, TF-IDF" in repr(loaded.summary())
    with pytest.raises(ConfigError, match="no steps to look at"):
        loaded.trace("a good film")
    resumed = unspool.train(resume=True, out=run.path)
    assert resumed.report.metrics == run.report.metrics


def test_prediction_does_not_need_scikit_learn(run) -> None:
    code = (
        f"import sys, unspool; unspool.load({str(run.path)!r}).predict(['good']);"
        "sys.exit('sklearn' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_baselines_beside_a_network(table, tmp_path) -> None:
    small = {"hidden": 4, "embedding": 4, "epochs": 1, "threads": 1, "label": "label"}
    run = unspool.train(table, model="gru", out=tmp_path / "run", max_length=4, **small)
    assert list(run.comparison.baselines) == ["majority", "linear"]
    alone = unspool.train(table, model="linear", out=tmp_path / "alone", label="label", threads=1)
    # The baseline has read whole texts, and the same rows.
    assert run.comparison.baselines["linear"].metrics == alone.report.metrics
    assert list(alone.comparison.baselines) == ["majority"]
    stored = json.loads((tmp_path / "run" / "evaluation.json").read_text())["baselines"]
    assert stored["linear"]["accuracy"] == alone.report.metrics["accuracy"]
    assert 0.4 < stored["majority"]["accuracy"] < 0.7
    assert "with baselines" in (tmp_path / "run" / "README.md").read_text()
    off = unspool.train(table, model="gru", out=tmp_path / "off", baseline=False, **small)
    assert off.comparison is None


def test_many_rows_have_no_baseline(table, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unspool.api.training.MOST_ROWS", 100)
    notes: list[str] = []
    run = unspool.train(
        table, model="gru", out=tmp_path / "run", label="label", hidden=4, embedding=4, epochs=1,
        threads=1, note=notes.append,
    )  # fmt: skip
    assert run.comparison is None
    assert [note for note in notes if note.startswith("baselines left out: 360 rows")]


def test_majority_and_mean(table, tmp_path) -> None:
    common = unspool.train(table, model="majority", label="label", out=tmp_path / "a", threads=1)
    answers = unspool.load(common.path).predict(["good", "bad"])
    assert answers[0].probabilities == answers[1].probabilities
    with pytest.raises(ConfigError, match="no steps to look at"):
        common.explain("good")
    mean = unspool.train(
        table, task="regress", model="mean", label="number", out=tmp_path / "b", threads=1
    )
    wanted = mean.task.fields["number"].mean[0]
    assert unspool.load(mean.path).predict(["good"])[0].numbers["number"] == pytest.approx(wanted)


def test_several_labels_a_row(tmp_path) -> None:
    """One regression a label, as scikit-learn's OneVsRestClassifier."""
    texts, labels = sentences(300, mixed=0.0)
    rows = [f'"{text}","{"good" if label else "bad"}{",film" if "film" in text else ""}"'
            for text, label in zip(texts, labels)]  # fmt: skip
    path = tmp_path / "some.csv"
    path.write_text("text,labels\n" + "\n".join(rows) + "\n")
    settings = {"multilabel": True, "label": "labels", "threads": 1}
    run = unspool.train(path, model="linear", out=tmp_path / "run", **settings)
    assert run.task.metric.name == "micro_f1"
    assert run.report.metrics["micro_f1"] > 0.9
    assert list(run.comparison.baselines) == ["majority"]
    (answer,) = unspool.load(run.path).predict("a superb film , warm and clever")
    assert set(answer.labels) == {"good", "film"}


def test_texts_without_words_are_read_by_characters(tmp_path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(200):
        bases = "".join(rng.choice(list("acgt"), 20))
        rows.append(f"{bases}{'gattaca' if i % 2 else 'ccttgga'},{'yes' if i % 2 else 'no'}")
    path = tmp_path / "dna.csv"
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    run = unspool.train(path, model="linear", out=tmp_path / "run", threads=1)
    assert run.report.metrics["accuracy"] == 1.0
    loaded = unspool.load(run.path)
    assert loaded.task.features.names == run.task.features.names
    assert [a.label for a in loaded.predict(["acgtgattaca", "ccttggaacg"])] == ["yes", "no"]


def test_few_rows_and_none_held_out(tmp_path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("text,label\na good film,x\na bad film,y\na good play,x\na bad play,y\n")
    run = unspool.train(path, model="linear", out=tmp_path / "run", valid_share=0, threads=1)
    assert run.report is None
    assert unspool.load(run.path).predict("good")[0].label == "x"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "bpe"}, "reads words or characters"),
        ({"embedding.from": "words.txt"}, "has no embedding"),
    ],
)
def test_what_a_linear_model_has_not(table, tmp_path, monkeypatch, settings, message) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("good 1 2\nbad 2 1\n")
    with pytest.raises(ConfigError, match=message):
        unspool.train(table, model="linear", label="label", out=tmp_path / "run", **settings)


def test_other_tasks_have_no_linear_model() -> None:
    from unspool.api.settings import make_config

    with pytest.raises(ConfigError, match=r"model.network=linear is not for task tag"):
        make_config("tag", settings={"network": "linear"})


def test_damaged_ngrams(run, tmp_path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run.path, copy)
    (copy / "hashes.json").unlink()  # changed on purpose
    stored = json.loads((copy / "ngrams.json").read_text())
    stored["ngrams"] = stored["ngrams"][::-1]
    (copy / "ngrams.json").write_text(json.dumps(stored))
    with pytest.raises(RunError, match="not the n-grams of the vocabulary"):
        unspool.load(copy)


@pytest.mark.parametrize("classes", [2, 3])
def test_log_count_ratios_are_those_of_naive_bayes(classes, table) -> None:
    """Against scikit-learn's naive Bayes, and its regression on what it weighs."""
    from scipy.sparse import csr_matrix
    from sklearn.naive_bayes import MultinomialNB

    task, parts = fitted(table, "classify", label="label")
    x = features(parts["train"]["text"], task.features)
    truth = np.random.default_rng(1).integers(0, classes, x.shape[0])
    solver = Logistic(task.decision, ratios=True)
    solver.decision = Known(truth, task.decision)
    weights = solver.solve(x, parts["train"], np.arange(len(truth)), 3.0)
    scores = weights.scores(x, classes)
    for k in [1] if classes == 2 else range(classes):
        own = truth == k
        bayes = MultinomialNB(alpha=1.0).fit(csr_matrix((x > 0).astype(float)), own)
        r = bayes.feature_log_prob_[1] - bayes.feature_log_prob_[0]
        np.testing.assert_allclose(log_count_ratios(x, own), r, atol=1e-12)
        oracle = LogisticRegression(C=3.0, max_iter=10_000, tol=1e-10).fit(x.multiply(r), own)
        wanted = oracle.decision_function(x.multiply(r))
        np.testing.assert_allclose(scores[:, k], wanted, atol=2e-2)
        assert np.corrcoef(scores[:, k], wanted)[0, 1] > 0.9999


class Known:
    """The decision of a task, of other labels."""

    def __init__(self, truth, decision) -> None:
        self.labels, self.train = truth, decision.train

    def truth(self, labels):
        return self.labels


@pytest.mark.parametrize("size", [8, 90])
def test_groups_left_out_of_a_ridge_are_those_of_scikit_learn(size) -> None:
    """With fewer features than rows, and with more."""
    rng = np.random.default_rng(size)
    x, y = rng.normal(size=(60, size)) + 1, rng.normal(size=(60, 2)) + 3
    groups = np.array(list("abcdefg"))[rng.integers(0, 7, 60)]
    found = leave_groups_out(x, y, groups)
    fold = np.unique(groups, return_inverse=True)[1] % MOST_GROUPS
    errors = []
    for penalty in PENALTIES:
        expected = np.zeros_like(y)
        for k in range(MOST_GROUPS):
            ridge = Ridge(alpha=penalty).fit(x[fold != k], y[fold != k])
            expected[fold == k] = ridge.predict(x[fold == k])
        errors.append(((expected - y) ** 2).mean())
        if errors[-1] == min(errors):
            best = expected
    assert found.errors == pytest.approx(errors)
    assert found.scores == pytest.approx(best)


def test_the_penalty_of_rocket_is_chosen_for_new_speakers(tmp_path, monkeypatch) -> None:
    """Where what tells labels apart is another thing with each speaker, rows of the same speaker
    would choose a small one."""
    rng, rows = np.random.default_rng(0), []
    for i in range(60):
        speaker, label = "abc"[i % 3], i // 3 % 2
        x = rng.normal(size=30).cumsum() + 5 * label * np.sin(np.arange(30) * (1 + i % 3))
        rows.append({"speaker": speaker, "series": x.round(3).tolist(), "label": f"k{label}"})
    data, seen = tmp_path / "a.jsonl", []
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def spied(x, y, groups):
        seen.append(sorted(set(groups.tolist())))
        return leave_groups_out(x, y, groups)

    monkeypatch.setattr("unspool.tasks.linear.leave_groups_out", spied)
    for group in ("none", "speaker"):
        out = tmp_path / group
        unspool.train(
            data, series="series", label="label", model="rocket", group=group, out=out,
            baseline=False, valid_share=0.3,
        )  # fmt: skip
    assert len(seen) == 1
    assert len(seen[0]) == 2  # the third is held out


def test_ratios_are_a_model_of_texts_alone(table, tmp_path) -> None:
    run = unspool.train(table, model="nb_linear", label="label", out=tmp_path / "nb", threads=1)
    assert run.report.metrics["accuracy"] > 0.75
    again = unspool.load(run.path)
    texts = ["good fine film", "a dull, poor plot"]
    for one, other in zip(run.predict(texts), again.predict(texts)):
        assert one.to_json() == other.to_json()
    assert [str(own).split()[0] for own in run.predict(texts)] == ["yes", "no"]
    series = tmp_path / "series.csv"
    rows = [f"{i // 10},{i % 10},{i * 7 % 5},{'ab'[i // 10 % 2]}" for i in range(200)]
    series.write_text("id,time,x,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(ConfigError, match="log-count ratios are of n-grams"):
        unspool.train(series, task="classify", model="nb_linear", out=tmp_path / "no", threads=1)
