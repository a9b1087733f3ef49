"""Numbers of documents: figures against other libraries, what is read, what is answered."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

import unspool
from small_tasks import load_data, small_settings
from unspool import vectors
from unspool.api.check import check
from unspool.api.compare import compare
from unspool.config import DataConfig
from unspool.data.fields.number import NumberField
from unspool.errors import ConfigError, DataError
from unspool.nn.cells import CELLS
from unspool.tasks.metrics import spearman
from unspool.tasks.planner import open_plan
from unspool.tasks.regress import RegressReport, error_intervals, errors

VALUES = {"great": 2, "fine": 1, "superb": 3, "dull": -2, "bad": -1, "awful": -3}
FILLERS = ["the", "film", "plot", "music", "a", "and", "of", "cast", "with", "scene"]
SMALL = {"hidden": 8, "embedding": 8, "threads": 1}
EVERY = {**SMALL, "filters": 4, "heads": 2}


def table(path: Path, count: int = 200) -> Path:
    rng = random.Random(1)
    lines = []
    for _ in range(count):
        words, judged = rng.choices(FILLERS, k=rng.randint(2, 7)), rng.choice(list(VALUES))
        words.insert(rng.randrange(len(words)), judged)
        x = VALUES[judged]
        lines.append(f"{' '.join(words)},{5 + x},{1000 - 70 * x + rng.gauss(0, 9):.2f}\n")
    path.write_text("text,stars,price\n" + "".join(lines))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return table(tmp_path_factory.mktemp("numbers") / "wine.csv")


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> unspool.Run:
    out = tmp_path_factory.mktemp("runs") / "two"
    return unspool.train(
        data, task="regress", label="stars,price", out=out, model="bigru", epochs=15, lr=0.02,
        batch=16, **SMALL,
    )  # fmt: skip


def fitted(**figures: list[float]) -> NumberField:
    field = NumberField("number", list("ab")[: len(figures["mean"])])
    for name, value in figures.items():
        setattr(field, name, np.array(value))
    return field


def test_figures_are_those_of_other_libraries() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 11, (300, 1)).astype(float)
    guess = truth + rng.normal(size=truth.shape)
    field = fitted(mean=[5.0], std=[2.0], median=[4.0])
    report = RegressReport(truth, guess, field, metric="rmse", loss=0.0)
    y, x = truth[:, 0], guess[:, 0]
    want = {
        "mae": mean_absolute_error(y, x),
        "rmse": root_mean_squared_error(y, x),
        "r2": r2_score(y, x),
        "spearman": spearmanr(y, x).statistic,
    }
    (own,) = report.numbers
    for key, value in want.items():
        assert report.metrics[key] == pytest.approx(value, rel=1e-12)
        found, low, high = own.figures[key]
        assert found == pytest.approx(value, rel=1e-12)
        assert low < value < high
    assert own.baselines["mean"]["rmse"] == pytest.approx(root_mean_squared_error(y, 0 * y + 5))
    assert own.baselines["median"]["mae"] == pytest.approx(mean_absolute_error(y, 0 * y + 4))
    assert own.baselines["mean"]["r2"] == pytest.approx(r2_score(y, 0 * y + 5))
    assert spearman(y, 0 * y + 5) == 0


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(size=150)
    x = y + rng.normal(size=150)
    found = error_intervals(y, x)
    rows = rng.integers(0, 150, (2000, 150))
    drawn = [errors(y[own], x[own]) for own in rows]
    for key, interval in found.items():
        want = np.quantile([each[key] for each in drawn], [0.025, 0.975])
        np.testing.assert_allclose(interval, want, atol=0.03)


def test_numbers_that_do_not_vary_have_an_r2_all_the_same() -> None:
    same = np.ones(4)
    for guess in (same, same + 1):
        assert errors(same, guess)["r2"] == r2_score(same, guess)
        assert np.isfinite(error_intervals(same, guess)["r2"]).all()


def test_several_numbers_are_judged_in_standard_deviations() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(50, 2)) * [1, 1000]
    guess = truth + rng.normal(size=(50, 2)) * [1, 1000]
    field = fitted(mean=[0.0, 0.0], std=[1.0, 1000.0], median=[0.0, 0.0])
    report = RegressReport(truth, guess, field, metric="mae", loss=0.0)
    scaled = [mean_absolute_error(truth[:, k], guess[:, k]) / field.std[k] for k in (0, 1)]
    assert report.metrics["mae"] == pytest.approx(np.mean(scaled))
    assert report.interval[0] < report.metrics["mae"] < report.interval[1]
    assert report.metrics["r2"] == pytest.approx(r2_score(truth, guess))


def test_it_learns_and_answers_in_the_units_of_the_file(run, data) -> None:
    report = run.evaluate(data)
    stars, price = report.numbers
    assert (stars.name, price.name) == ("stars", "price")
    for own in (stars, price):
        assert own.figures["rmse"].high < own.baselines["mean"]["rmse"] / 2
    assert report.metrics["r2"] > 0.8
    (answer,) = run.predict("the superb film")
    assert 6 < answer.numbers["stars"] < 9
    assert 700 < answer.numbers["price"] < 900
    stored = json.loads(json.dumps(report.to_json()))
    assert stored["examples"] == 200
    assert stored["numbers"]["price"]["mae"]["value"] == price.figures["mae"].value
    assert len(stored["points"]["stars"]["true"]) == 200
    assert "price" in (run.path / "README.md").read_text()


def test_an_answer_does_not_depend_on_its_company(run) -> None:
    texts = ["awful", "a great cast with a superb plot of the film", "the film", "x y z"]
    for text, together in zip(texts, run.predict(texts)):
        (alone,) = unspool.load(run.path).predict([text])
        for name, number in together.numbers.items():
            scale = run.task.number.std[run.task.number.names.index(name)]
            assert alone.numbers[name] == pytest.approx(number, abs=1e-5 * scale)


def test_an_answer_prints_itself(run) -> None:
    (answer,) = run.predict(["a  fine\nfilm"])
    stars, price = answer.numbers.values()
    assert str(answer) == f"{stars:.6g}\t{price:.6g}\ta fine film"
    assert answer.header() == ["stars", "price", "text"]
    assert answer.rows(1) == [[f"{stars:.6g}", f"{price:.6g}", "a  fine\nfilm"]]
    assert answer.to_json() == {"numbers": answer.numbers, "text": "a  fine\nfilm"}


@pytest.mark.parametrize("model", [*(f"bi{cell}" for cell in CELLS), "gru", "cnn", "transformer"])
def test_every_network_has_numbers(model, data, tmp_path) -> None:
    small = small_settings("regress", model, EVERY)
    run = unspool.train(
        data, task="regress", label="stars", model=model, out=tmp_path / "run", max_steps=3, **small
    )
    assert np.isfinite(run.report.metrics["rmse"])
    assert len(run.explain("a great film").values) == 3
    assert run.trace("a great film").choices[0].measure == "number"


def test_the_loss_chooses_the_metric(data, tmp_path) -> None:
    run = unspool.train(
        data, task="regress", label="price", loss="absolute", out=tmp_path / "run", max_steps=3,
        **SMALL,
    )  # fmt: skip
    assert run.task.metric.name == "mae"
    assert run.report.metrics["loss"] == pytest.approx(
        run.report.metrics["mae"] / run.task.number.std[0]
    )
    assert run.report.interval[0] < run.report.metrics["mae"] < run.report.interval[1]


def test_the_loss_is_that_of_its_name(data) -> None:
    for loss, error in (("squared", np.square), ("absolute", np.abs)):
        loaded = load_data(data, task="regress", data={"label": "stars"}, model={"dropout": 0.0})
        config = loaded.config.model_copy(
            update={"train": loaded.config.train.model_copy(update={"loss": loss})}
        )
        task = type(loaded.task)(config, loaded.fields)
        torch.manual_seed(1)
        model, part = task.build().eval(), loaded.parts["train"]
        step = task.loss(model, part.collate(np.arange(8)), None)
        wrong = (task.numbers(model, part) - part["number"].array)[:8] / task.number.std
        assert step.loss.item() == pytest.approx(error(wrong).mean(), rel=1e-4)


def test_reasons_add_up_to_the_number(run) -> None:
    for name, value in run.predict("the superb film")[0].numbers.items():
        why = run.explain("the superb film", answer=name)
        assert (why.answer, why.measure) == (name, "number")
        assert why.answer_value == pytest.approx(value, rel=1e-4)
        assert why.values.sum() == pytest.approx(why.total, abs=2e-3 * run.task.number.std.max())
        assert np.abs(why.values).argmax() == 1
        (shorter,) = run.predict("the film")
        assert why.deletions[1].answer_value == pytest.approx(shorter.numbers[name], rel=1e-4)
        assert why.deletions[1].answer == name
        assert why.lines()[0] == f"{name!r}, number {value:.4f}"


def test_the_page_has_everything_but_classes(run, tmp_path) -> None:
    run.look("the superb film").save(tmp_path / "page.html")
    assert "stars" in (tmp_path / "page.html").read_text()


def test_ngrams_need_classes(data, tmp_path) -> None:
    from unspool.insight.ngrams import ngrams_of_file

    run = unspool.train(
        data,
        task="regress",
        label="stars",
        model="cnn",
        out=tmp_path / "run",
        max_steps=2,
        filters=4,
    )
    with pytest.raises(ConfigError, match=r"raise the score of a class.*got 'a regress model'"):
        ngrams_of_file(run.task, run.model, data)
    run.look("the superb film").save(tmp_path / "page.html")


def test_it_starts_from_another_encoder(data, tmp_path) -> None:
    first = unspool.train(
        data, task="classify", label="stars", out=tmp_path / "a", max_steps=2, **SMALL
    )
    said: list[str] = []
    second = unspool.train(
        data, task="regress", label="stars,price", start=first.path, out=tmp_path / "b",
        max_steps=1, threads=1, lr=1e-9, note=said.append,
    )  # fmt: skip
    for name, tensor in first.model.encoder.state_dict().items():
        torch.testing.assert_close(
            tensor, second.model.encoder.state_dict()[name], atol=1e-6, rtol=0
        )


def test_it_reads_with_contextual_vectors(data, book, tmp_path) -> None:
    small = {"hidden": 8, "projection": 6, "character_hidden": 8, "layers": 1, "threads": 1}
    elmo = unspool.train(book, task="elmo", out=tmp_path / "elmo", max_steps=2, **small)
    run = unspool.train(
        data, task="regress", label="stars", start=elmo.path, out=tmp_path / "run", max_steps=2,
        hidden=8, threads=1,
    )  # fmt: skip
    assert run.model.contextual is not None
    (answer,) = run.predict("a fine film")
    why = run.explain("a fine film")
    assert why.answer_value == pytest.approx(answer.numbers["stars"], rel=1e-4)


def test_it_starts_from_word_vectors(data, tmp_path) -> None:
    matrix = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    vectors.save(vectors.WordVectors(["film", "plot", "cast"], matrix), tmp_path / "v.txt")
    run = unspool.train(
        data, task="regress", label="stars", out=tmp_path / "run", max_steps=1, hidden=8,
        threads=1, **{"embedding.from": str(tmp_path / "v.txt"), "embedding.frozen": True},
    )  # fmt: skip
    row = run.task.tokenizer.vocab.id("plot")
    weight = run.model.encoder.input.embedding.weight.detach().numpy()
    np.testing.assert_allclose(weight[row], matrix[1], atol=1e-6)


def test_models_are_compared_by_their_error(data, tmp_path) -> None:
    table = compare(
        data, models=["gru", "cnn"], seeds=2, task="regress", label="stars", out=tmp_path / "c",
        max_steps=4, filters=4, **SMALL,
    )  # fmt: skip
    assert table[0].metric == "rmse"
    assert table[0].value <= table[1].value
    assert all(row.low < row.value < row.high for row in table)


def plan(path: Path, **settings: object) -> object:
    return open_plan(path, DataConfig(**settings), "regress")


def test_it_is_chosen_only_by_name(data) -> None:
    assert open_plan(data, DataConfig()).task == "classify"


def test_columns_by_name_number_and_list(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,a,b\nx y,1,2.5\nz,3,4\n")
    assert plan(path, label="b").summary.endswith("number in 'b' -> regress")
    found = plan(path, label="b, a")
    assert found.summary.endswith("numbers in 'b, a' -> regress")
    assert [row.values for row in found.rows()] == [("x y", ["2.5", "1"]), ("z", ["4", "3"])]
    assert found.key != plan(path, label="b").key
    (tmp_path / "b.tsv").write_text("1\t2\tx y z\n3\t4\tw w w\n")
    found = plan(tmp_path / "b.tsv", label="1,2")
    assert [row.values[1] for row in found.rows()] == [["1", "2"], ["3", "4"]]
    lines = [{"text": "x", "both": [1, 2]}, {"text": "y", "both": [3, 5]}] * 5
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    loaded = load_data(tmp_path / "c.jsonl", task="regress")
    assert loaded.fields["number"].names == ["both1", "both2"]


def test_the_only_numbers_are_found_below_their_name(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("words,weight\na b c,1.5\nd e f,2\ng h,0.1\n")
    found = plan(path)
    assert next(iter(found.rows())).values == ("a b c", "1.5")


BAD = {
    "no numbers": ("text,label\na,x\nb,y\n", {}, r"a.csv: holds no column of numbers.*label="),
    "several": ("text,m,n\na,1,2\nb,2,3\n", {}, r"several columns hold numbers: m, n.*label="),
    "twice": ("text,m\na,1\nb,2\n", {"label": "m,m"}, r"named twice; got 'm'"),
    "unknown": ("text,m,n\na,1,2\n", {"label": "m,k"}, r"there is no column 'k' among text, m, n"),
    "the text": ("text,m\na,1\nb,2\n", {"label": "text,m", "text": "text"}, r"the same column"),
    "a word": ("text,m\na,1\nb,many\nc,3\n", {}, r"a.csv:3: the value is not a number; got 'many'"),
    "nothing": ("text,m\na,1\nb,\nc,3\n", {"missing": "error"}, r"a.csv:3: the number is missing"),
    "a comma": ('text,m\na,1\nb,"1,5"\nc,3\n', {}, r"a.csv:3: .*got '1,5'.*with a point"),
    "constant": ("text,m\n" + "a,1\n" * 9, {"label": "m"}, r"all rows have the same m"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_numbers_are_refused(name, tmp_path) -> None:
    content, settings, match = BAD[name]
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=match):
        load_data(path, task="regress", data=settings)


def test_lists_have_one_length_and_are_not_empty(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    for second, match in (("[1]", r"jsonl:2: expected 2 numbers, found 1"), ("[]", r"jsonl:2: ")):
        path.write_text(f'{{"text": "a", "y": [1, 2]}}\n{{"text": "b", "y": {second}}}\n')
        with pytest.raises(DataError, match=match):
            load_data(path, task="regress", data={"label": "y"})


def test_a_file_with_other_numbers_is_refused(run, data) -> None:
    with pytest.raises(
        DataError, match=r"was trained on 2 numbers a row, and the file has 1.*label="
    ):
        run.evaluate(data, label="stars")


def test_check_shows_the_spread(data) -> None:
    report = check(data, task="regress", label="stars,price")
    spread = report.parts[0].numbers["price"]
    assert spread.least < 810
    assert spread.most > 1190
    assert any(text.startswith("  stars: mean 5") for text in report.lines())
    assert "labels" not in str(report)
    assert json.loads(json.dumps(report.to_json()))["parts"][0]["numbers"]["price"]["std"] > 50
