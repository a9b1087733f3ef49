"""Training a pretrained model further: `unspool train DATA --from FOLDER`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import unspool as package
from unspool.api.run import load

transformers = pytest.importorskip("transformers")

WORDS = "the a film plot cast music was is felt seemed very good great fine lovely bad poor dull"
TINY = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def save(model: nn.Module, folder: Path) -> None:
    for parameter in model.parameters():
        if parameter.dim() == 2:
            nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(folder)


@pytest.fixture(scope="session")
def bert(tmp_path_factory) -> Path:
    """A random BERT of a size that trains in a second, with a tokenizer of whole words."""
    folder = tmp_path_factory.mktemp("folders") / "bert"
    folder.mkdir()
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split(), "awful"]
    (folder / "vocab.txt").write_text("\n".join(tokens))
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokens) + 2, hidden_size=16, max_position_embeddings=24, **TINY
    )
    transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    save(transformers.BertModel(config), folder)
    return folder


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory) -> Path:
    from tokenizers import ByteLevelBPETokenizer

    folder = tmp_path_factory.mktemp("folders") / "gpt2"
    folder.mkdir()
    fitted = ByteLevelBPETokenizer()
    fitted.train_from_iterator([WORDS] * 3, vocab_size=300, special_tokens=["<|endoftext|>"])
    fitted.save(str(folder / "tokenizer.json"))
    config = transformers.GPT2Config(
        vocab_size=fitted.get_vocab_size(),
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=32,
        bos_token_id=0,
        eos_token_id=0,
    )
    torch.manual_seed(1)
    save(transformers.GPT2LMHeadModel(config), folder)
    return folder


def moved(folder: Path, tmp_path: Path) -> Path:
    """A copy that may be changed or removed."""
    return Path(shutil.copytree(folder, tmp_path / "folder"))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_bert_learns_to_classify(bert, reviews, unspool, tmp_path, monkeypatch, pooling) -> None:
    monkeypatch.chdir(tmp_path)
    folder = moved(bert, tmp_path)
    ended = unspool(
        "train", reviews, "--from", folder, "--out", "run", "--json", "--set", f"pooling={pooling}",
        "--set", "lr=5e-3", "--set", "epochs=12", "--set", "threads=1", "--set", "max_length=12",
        "--set", "batch=16", "--set", "dropout=0",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "weights of the encoder and a vocabulary of 26; new: output" in ended.err
    shutil.rmtree(folder)  # the run needs it no longer
    assert json.loads(ended.out)["accuracy"] > 0.9
    run = load("run")
    assert [p.label for p in run.predict(["a great film", "dull , awful music"])] == ["pos", "neg"]
    model = run.config.model
    assert (model.network, model.norm, model.context, model.embedding_norm) == (
        "transformer", "post", 24, True,
    )  # fmt: skip
    assert run.config.train.schedule == "linear"
    assert "from the model it started from" in (tmp_path / "run" / "README.md").read_text()
    record = json.loads((tmp_path / "run" / "config.json").read_text())
    assert record["start"]["path"] == str(folder.resolve())
    alone = run.predict("a great film")[0].probabilities["pos"]
    long = run.predict(["a great film", "very " * 100])
    assert long[0].probabilities["pos"] == pytest.approx(alone, abs=1e-5)


def test_a_run_begins_with_the_weights_of_the_folder(bert, reviews, tmp_path) -> None:
    run = package.train(
        reviews, start=bert, out=tmp_path / "run", max_steps=1, lr=1e-12, threads=1, max_length=12
    )
    own = run.model.state_dict()
    stored = load_file(bert / "model.safetensors")
    close = torch.testing.assert_close
    close(own["encoder.input.embedding.weight"], stored["embeddings.word_embeddings.weight"])
    close(
        own["encoder.network.layers.1.attention.W"][:16],
        stored["encoder.layer.1.attention.self.query.weight"],
    )


def test_a_run_that_began_so_can_be_taken_up_again(bert, reviews, tmp_path) -> None:
    options = {"lr": 1e-3, "threads": 1, "max_length": 12, "epochs": 2, "log_steps": 1}
    whole = package.train(reviews, start=bert, out=tmp_path / "whole", **options)
    folder = moved(bert, tmp_path)
    package.train(reviews, start=folder, out=tmp_path / "cut", **options)
    shutil.rmtree(folder)
    checkpoints = sorted((tmp_path / "cut" / "checkpoints").iterdir())
    for path in checkpoints[1:]:
        path.unlink()
    run = package.train(out=tmp_path / "cut", resume=True)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, run.model.state_dict()[name]), name


def test_gpt2_learns_to_write(gpt2, book, unspool, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = moved(gpt2, tmp_path)
    ended = unspool(
        "train", book, "--task", "generate", "--from", folder, "--out", "run", "--json",
        "--set", "lr=5e-3", "--set", "threads=1", "--set", "bptt=16",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    shutil.rmtree(folder)
    assert json.loads(ended.out)["loss"] < 4.5
    run = load("run")
    assert run.config.model.tied
    text = run.generate("the film", length=60)
    assert text.startswith("the film")
    assert "<|endoftext|>" not in text


def change(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


REFUSALS = {
    "another kind": (lambda f: change(f, model_type="t5"), [], "another kind; got 't5'"),
    "a pickle": (
        lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"),
        [],
        "only a pickle, which could run any code",
    ),
    "no tokenizer": (
        lambda f: [(f / name).unlink() for name in ("tokenizer.json", "vocab.txt")],
        [],
        "has no tokenizer.json",
    ),
    "relative positions": (
        lambda f: change(f, position_embedding_type="relative_key"),
        [],
        "position_embedding_type must be",
    ),
    "another activation": (lambda f: change(f, hidden_act="mish"), [], "hidden_act must be one of"),
    "wrong shapes": (lambda f: change(f, vocab_size=30), [], "should have shape (30, 16)"),
    "a layer missing": (lambda f: change(f, num_hidden_layers=3), [], "has no tensor"),
    "another task": (lambda f: None, ["--task", "generate"], "can be fine-tuned for classify"),
    "another width": (lambda f: None, ["--set", "hidden=32"], "has model.hidden=16"),
    "another model": (lambda f: None, ["--model", "lstm"], "the model to start from is a transf"),
    "another tokenizer": (
        lambda f: None,
        ["--set", "tokenizer.kind=word"],
        "has tokenizer.kind=pretrained",
    ),
    "too long": (
        lambda f: None,
        ["--set", "max_length=25"],
        "data.max_length must be at most model.context=24",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_started_from(case, bert, reviews, unspool, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    spoil, options, says = REFUSALS[case]
    folder = moved(bert, tmp_path)
    spoil(folder)
    ended = unspool("train", reviews, "--from", folder, "--out", "run", *options)
    assert ended.code == 2
    assert says in ended.err.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_a_pretrained_tokenizer_comes_from_a_folder(reviews, unspool, tmp_path) -> None:
    ended = unspool("train", reviews, "--set", "kind=pretrained", "--out", tmp_path / "run")
    assert ended.code == 2
    assert "that of a model that was trained before. Name its folder with --from" in ended.err


def test_positions_beyond_the_frame_are_cut(bert) -> None:
    from unspool.training.transfer import open_start

    start = open_start(bert)
    ids = start.tokenizer.document("very " * 100, limit=24)
    assert len(ids) == 24
    assert np.array_equal(ids[[0, -1]], [2, 3])
