"""Starting a run from the encoder of another: what is taken, what is refused, and resuming."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch

import unspool
from unspool.errors import ConfigError, RunError
from unspool.text.vocab import SENTENCE_SPECIALS

sys.path.insert(0, str(Path(__file__).parent / "training"))
from kill_runs import fingerprint

SMALL = {"threads": 1, "batch": 8, "patience": 0}
NET = {"hidden": 8, "heads": 2, "layers": 2}


@pytest.fixture(scope="module")
def pretrained(book, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("pretrained") / "run"
    settings = {"epochs": 1, "lowercase": True, "feed_forward": 12, "precision": "fp32"}
    unspool.train(book, task="pretrain", out=out, **settings, **NET, **SMALL)
    return out


def encoder_of(path: Path) -> dict[str, torch.Tensor]:
    state = unspool.load(path).model.state_dict()
    return {name: tensor for name, tensor in state.items() if name.startswith("encoder.")}


def test_a_translator_reads_with_what_was_pretrained(pretrained, tmp_path) -> None:
    data = tmp_path / "pairs.tsv"
    rows = [f"the film was {w}\tfilm {w} the\n" for w in ("good", "bad", "dull", "fine")] * 10
    data.write_text("source\ttarget\n" + "".join(rows))
    notes: list[str] = []
    out = tmp_path / "translator"
    settings = {**SMALL, "dropout": 0.0, "lr": 0.02, "epochs": 30, "precision": "fp32"}
    unspool.train(data, task="translate", start=pretrained, out=out, note=notes.append, **settings)
    assert any("weights of the encoder" in line and "new: decoder" in line for line in notes)
    run = unspool.load(out)
    task = run.task
    assert task.tokenizer.to_json() == unspool.load(pretrained).task.tokenizer.to_json()
    assert not task.joint
    assert task.target_tokenizer.vocab.specials == SENTENCE_SPECIALS
    assert run.config.model.layers == NET["layers"]
    answer = run.predict(["the film was dull"], unspool.Decoding(alignment=True))[0]
    assert answer.source_tokens == ["the", "film", "was", "dull"]  # nothing stands for the end
    assert answer.alignment.shape == (len(answer.tokens), 4)
    assert answer.translation == "film dull the"
    frozen, settings["epochs"] = tmp_path / "frozen", 1
    unspool.train(
        data, task="translate", start=pretrained, out=frozen, freeze="encoder", **settings
    )
    for name, tensor in encoder_of(pretrained).items():
        assert torch.equal(encoder_of(frozen)[name], tensor)


def test_encoder_vocabulary_and_settings_are_taken(pretrained, reviews, tmp_path) -> None:
    notes: list[str] = []
    run = unspool.train(
        reviews, start=pretrained, out=tmp_path / "r", epochs=1, freeze="encoder",
        pooling="cls", note=notes.append, **SMALL,
    )  # fmt: skip
    before = unspool.load(pretrained)
    assert run.task.tokenizer.to_json() == before.task.tokenizer.to_json()
    assert (run.config.model.hidden, run.config.model.feed_forward) == (8, 12)
    assert run.config.tokenizer.lowercase
    assert run.config.model_name == "transformer"
    after = encoder_of(tmp_path / "r")
    assert after.keys() - encoder_of(pretrained).keys() == {"encoder.cls.vector"}
    assert all(torch.equal(after[name], t) for name, t in encoder_of(pretrained).items())
    record = json.loads((tmp_path / "r" / "config.json").read_text())
    assert record["start"]["path"] == str(pretrained.resolve())
    assert len(record["start"]["sha256"]) == 64
    (line,) = [line for line in notes if line.startswith("from ")]
    assert line.endswith("new: encoder.cls, output")
    assert f"vocabulary of {len(before.task.tokenizer)}" in line


def test_without_freezing_everything_learns(pretrained, reviews, tmp_path) -> None:
    unspool.train(reviews, start=pretrained, out=tmp_path / "r", epochs=1, **SMALL)
    after = encoder_of(tmp_path / "r")
    assert not any(torch.equal(after[name], t) for name, t in encoder_of(pretrained).items())


def test_gradual_thaws_a_block_an_epoch(pretrained, reviews, tmp_path) -> None:
    """Two epochs: first the output, then the top block too."""
    unspool.train(
        reviews, start=pretrained, out=tmp_path / "r", epochs=2, freeze="gradual",
        valid_share=0, **SMALL,
    )  # fmt: skip
    before, after = encoder_of(pretrained), encoder_of(tmp_path / "r")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("layers.1" in name or ".norm." in name for name in changed)
    assert not any("layers.0" in name for name in changed)


def test_a_recurrent_classifier_starts_from_a_language_model(writer, reviews, tmp_path) -> None:
    run = unspool.train(
        reviews, start=writer, out=tmp_path / "r", max_steps=1, freeze="encoder", **SMALL
    )
    assert run.config.model_name == "gru"
    assert run.config.tokenizer.kind == "char"
    after = encoder_of(tmp_path / "r")
    assert all(torch.equal(after[name], t) for name, t in encoder_of(writer).items())


@pytest.mark.parametrize("freeze", ["none", "gradual"])
def test_resuming_to_the_bit_without_the_folder_it_came_from(
    freeze, pretrained, reviews, tmp_path, monkeypatch
) -> None:
    from unspool.training import trainer

    settings = {"epochs": 3, "freeze": freeze, "layer_decay": 0.8, "checkpoint_seconds": 0, **SMALL}
    unspool.train(reviews, start=pretrained, out=tmp_path / "whole", **settings)

    for stop_at in (0, 40):  # before the first step, and in the second epoch
        moved, out = tmp_path / f"start{stop_at}", tmp_path / f"broken{stop_at}"
        shutil.copytree(pretrained, moved)
        real, seen = trainer.Trainer._step, []

        def limited(self, real=real, seen=seen, stop_at=stop_at):
            if len(seen) >= stop_at:
                raise InterruptedError
            seen.append(1)
            return real(self)

        with monkeypatch.context() as patched:
            patched.setattr(trainer.Trainer, "_step", limited)
            with pytest.raises(InterruptedError):
                unspool.train(reviews, start=moved, out=out, **settings)
        shutil.rmtree(moved)
        unspool.train(out=out, resume=True)
        assert fingerprint(out) == fingerprint(tmp_path / "whole")


def test_what_does_not_fit_is_refused(pretrained, reviews, book, writer, tmp_path) -> None:
    def refused(match: str, error=ConfigError, data=reviews, **asked) -> None:
        with pytest.raises(error, match=match):
            unspool.train(data, out=tmp_path / "r", **{"start": pretrained, **asked})
        assert not (tmp_path / "r").exists()

    refused(r"has model\.hidden=8; got 16\. Leave the setting out", hidden=16)
    refused(r"has tokenizer\.kind=word; got 'char'", kind="char")
    refused(r"to start from is a transformer; got 'bilstm'\. Leave out model=", model="bilstm")
    refused(r"fit no part of generate with model=.transformer.", data=book, task="generate")
    refused(r"no such run folder", RunError, start=tmp_path / "nothing")
    refused(r"freeze freezes what an encoder has learnt before", start=None, freeze="encoder")
    message = r"start= cannot be combined with resume=True; got .* Leave out start="
    with pytest.raises(ConfigError, match=message):
        unspool.train(out=pretrained, resume=True, start=writer)


def test_a_causal_transformer_starts_none_but_its_kind(book, reviews, tmp_path) -> None:
    unspool.train(
        book, task="generate", model="transformer", out=tmp_path / "g", max_steps=1, bptt=8,
        **NET, **SMALL,
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"can be fine-tuned for generate; got .task classify"):
        unspool.train(reviews, start=tmp_path / "g", out=tmp_path / "r")
    notes: list[str] = []
    asked = {"task": "generate", "bptt": 8, "max_steps": 1, **SMALL}
    unspool.train(book, start=tmp_path / "g", out=tmp_path / "r", note=notes.append, **asked)
    assert any("weights of the encoder" in line for line in notes)


def test_the_card_says_where_it_started(pretrained, reviews, tmp_path) -> None:
    unspool.train(reviews, start=pretrained, out=tmp_path / "r", max_steps=1, **SMALL)
    card = (tmp_path / "r" / "README.md").read_text()
    record = json.loads((tmp_path / "r" / "config.json").read_text())
    assert f"Started from `{pretrained.resolve()}`, SHA-256 `{record['start']['sha256']}`." in card
    assert "<mask>" in (pretrained / "README.md").read_text()
