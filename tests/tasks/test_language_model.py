"""The Transformer as a language model: its context; evaluation as what every step says."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

import unspool
from unspool.nn.models.language_model import TransformerLanguageModel
from unspool.nn.transformer_blocks import TransformerOptions

SMALL = {"hidden": 8, "heads": 2, "layers": 1, "threads": 1, "batch": 8, "dropout": 0}


def model(length: int, positions: str = "learned") -> TransformerLanguageModel:
    torch.manual_seed(1)
    options = TransformerOptions(8, 2, layers=2, positions=positions, length=length)
    return TransformerLanguageModel(9, options, tied=True).eval()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("length", [1, 4, 5])
def test_a_full_context_begins_anew_with_its_last_half(positions, length) -> None:
    net = model(length, positions)
    ids = torch.randint(9, (2, 3 * length + 1))
    seen: list[torch.Tensor] = []
    with torch.inference_mode():
        state = net.start(2)
        for t in range(ids.shape[1]):
            logits, state = net.step(ids[:, t], state)
            if len(seen) == length:
                seen = seen[length - length // 2 :]
            seen.append(ids[:, t])
            expected = net(torch.stack(seen, 1)).logits[:, -1]
            torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
            assert state.values.tolist() == torch.stack(seen, 1).tolist()


def test_many_tokens_at_once_as_one_by_one() -> None:
    net = model(4)
    ids = torch.randint(9, (2, 11))
    with torch.inference_mode():
        together = net(ids, net.start(2)).logits
        state = net.start(2)
        for t in range(11):
            logits, state = net.step(ids[:, t], state)
            torch.testing.assert_close(together[:, t], logits, atol=1e-5, rtol=1e-5)


@pytest.fixture(scope="module")
def run(book, tmp_path_factory) -> unspool.api.run.Run:
    out = tmp_path_factory.mktemp("gpt") / "run"
    return unspool.train(
        book, task="generate", model="transformer", out=out, max_steps=30, bptt=16, **SMALL
    )


def test_evaluation_is_what_every_step_says(run, book, tmp_path) -> None:
    text = book.read_text()[:300]
    (tmp_path / "some.txt").write_text(text)
    ids = torch.from_numpy(run.task.tokenizer.encode(text))[None]
    with torch.inference_mode():
        logits = run.model(ids, run.model.start(1)).logits
    by_steps = F.cross_entropy(logits[0, :-1].double(), ids[0, 1:]).item()
    report = run.evaluate(tmp_path / "some.txt")
    assert report.metrics["loss"] == pytest.approx(by_steps, abs=1e-5)
    assert report.tokens == len(text) - 1
    assert report.to_json()["context"] == 16
    assert "each from a context of 8 to 16 tokens" in report.lines()[0]
    bits = report.metrics["loss"] * report.tokens / math.log(2) / len(text)
    assert report.metrics["bits_per_character"] == pytest.approx(bits)


def test_it_writes_beyond_its_context(run) -> None:
    text = run.generate("the ", length=60, temperature=0)
    assert len(text) == 64
    assert text == run.generate("the ", length=60, temperature=0, seed=9)


def test_it_learns(book, tmp_path) -> None:
    trained = unspool.train(
        book, task="generate", model="transformer", out=tmp_path / "r",
        max_steps=150, bptt=32, **{**SMALL, "hidden": 32, "lr": 1e-2},
    )  # fmt: skip
    assert trained.report.metrics["loss"] < 1.6  # a uniform guess: 3.1
