"""Predictions in bf16 and int8: served where the loss of accuracy is within the bound, with both
figures in the card, refused where it is not."""

from __future__ import annotations

import math

import pytest

from unspool.cli import run as command
from unspool.errors import ConfigError
from unspool.search.decoding import Decoding
from unspool.serve.engine import EngineSettings
from unspool.serve.loading import load_served
from unspool.serve.settings import ServeLimits


def load_in(precision: str, folder, file, max_loss: float = 0.05):
    return load_served(
        EngineSettings(
            "m", str(folder), 1, "cpu", precision, str(file), max_loss, (), False, "1.0",
            ServeLimits(),
        )
    )  # fmt: skip


def test_bf16_is_measured(classifier, reviews) -> None:
    loaded = load_in("bf16", classifier, reviews)
    check = loaded.card["precision_check"]
    assert check["metric"] == loaded.served.task.metric.name
    assert abs(check["fp32"] - check["bf16"]) <= check["max_loss"] == 0.05
    assert check["rows"] > 0
    assert loaded.card["precision"] == "bf16"
    work = loaded.served.predict(1, b'{"items": ["a lovely film"]}')
    (half,) = work.compute(work.items)
    task, model = loaded.served.task, loaded.served.model
    (full,) = task.predict(model, work.items, None)
    shares = [answer.to_json()["probabilities"] for answer in (half, full)]
    assert shares[0] != shares[1]  # it is another precision
    assert all(math.isclose(shares[0][k], shares[1][k], abs_tol=0.05) for k in shares[0])


def test_more_loss_than_the_bound_is_refused(classifier, reviews, monkeypatch) -> None:
    figures = iter([0.9, 0.8])
    kind = type(load_served_task(classifier))
    report = type("Report", (), {})

    def evaluate(self, model, part, options):
        made = report()
        made.metrics = {self.metric.name: next(figures)}
        return made

    monkeypatch.setattr(kind, "evaluate", evaluate)
    with pytest.raises(ConfigError, match=r"bf16 changes .* from 0.9000 to 0.8000, by more than"):
        load_in("bf16", classifier, reviews)


def load_served_task(folder):
    from unspool.training.folder import RunFolder

    return RunFolder(folder).load_model()[0]


def test_int8_is_for_decoders(classifier, reviews) -> None:
    with pytest.raises(ConfigError, match=r"^int8 is for models that decode with a Transformer"):
        load_in("int8", classifier, reviews)


def test_int8_of_a_translator(pairs, tmp_path) -> None:
    from unspool.api.train import train

    small = {"hidden": 16, "heads": 2, "layers": 1, "threads": 1, "epochs": 1, "kind": "word"}
    run = train(pairs, out=tmp_path / "run", model="transformer", **small)
    try:
        run.predict(["red"], Decoding(int8=True))
    except ConfigError:
        pytest.skip("int8 is not for this processor")
    loaded = load_in("int8", run.path, pairs, 200.0)
    assert loaded.card["precision_check"]["int8"] >= 0
    assert loaded.served.options(None).int8


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--precision", "bf16"], "belong together"),
        (["--validation", "f.csv"], "belong together"),
        (["--precision", "fp8", "--validation", "f.csv"], "fp8"),
        (["--precision", "bf16", "--validation", "f.csv", "--max-loss", "-1"], "max_loss must be"),
    ],
)
def test_options_that_belong_together(capsys, classifier, arguments, line) -> None:
    assert command(["serve", str(classifier), *arguments]) == 2
    shown = capsys.readouterr().err
    assert line in shown
    assert shown.count("\n") == 1
