"""The scores of models themselves, token by token: with any padding, tapped, step by step.

`test_all_models.py` asks all models of all tasks, through their tasks."""

from __future__ import annotations

import pytest
import torch

from small_tasks import make_task
from unspool.api.settings import make_config
from unspool.nn.taps import record, taps
from unspool.tasks import build_model
from unspool.tasks.generate import Generate
from unspool.tasks.tag.task import Tag
from unspool.tasks.task import Task
from unspool.text.tokenizers import CharTokenizer
from unspool.text.vocab import MASK_SPECIALS, Vocab

WINDOW = {"self_attention": "window", "attention_window": 2}
SMALL = {
    "hidden": 8, "filters": 4, "layers": 2, "heads": 2, "dropout": 0.0, "bptt": 8, "max_length": 12,
}  # fmt: skip
MODELS = {
    "classify-bigru": ("classify", "bigru", {}),
    "classify-cnn": ("classify", "cnn", {}),
    "classify-dense": ("classify", "cnn", {"widths": "5", "layers": 1, "dense": 4}),
    "classify-one-hot": ("classify", "cnn", {"embedding": 0, "pooling": "mean"}),
    "classify-transformer": ("classify", "transformer", {}),
    "classify-cls": ("classify", "transformer", {"pooling": "cls", "positions": "learned"}),
    "classify-post": ("classify", "transformer", {"norm": "post", "pooling": "attention"}),
    "classify-window": (
        "classify",
        "transformer",
        WINDOW,
    ),
    "classify-linear": ("classify", "transformer", {"self_attention": "linear", "pooling": "max"}),
    "classify-none": ("classify", "transformer", {"positions": "none", "activation": "swiglu"}),
    "tag-bilstm": ("tag", "bilstm", {}),
    "tag-lstm": ("tag", "lstm", {"characters": "cnn", "output": "softmax"}),
    "tag-cnn": ("tag", "cnn", {"characters": "none"}),
    "tag-transformer": ("tag", "transformer", {"characters": "lstm"}),
    "generate-gru": ("generate", "gru", {}),
    "generate-transformer": ("generate", "transformer", {}),
    "generate-sinusoidal": ("generate", "transformer", {"positions": "sinusoidal", "tied": False}),
    "generate-rotary": ("generate", "transformer", {"positions": "rotary", "activation": "relu"}),
    "generate-window": (
        "generate",
        "transformer",
        WINDOW,
    ),
    "generate-linear": ("generate", "transformer", {"self_attention": "linear"}),
    "pretrain-transformer": ("pretrain", "transformer", {}),
    "pretrain-learned": ("pretrain", "transformer", {"positions": "learned"}),
}
LENGTHS = torch.tensor([5, 1, 3])


def make(name: str) -> tuple[Task, torch.nn.Module]:
    task, model, settings = MODELS[name]
    torch.manual_seed(1)
    config = make_config(task, model, settings={**SMALL, **settings})
    tokenizer = CharTokenizer(Vocab.of("abcdefghij", specials=MASK_SPECIALS))
    labels = ["B-x", "E-x", "I-x", "O", "S-x"] if task == "tag" else ["x", "y", "z"]
    made = make_task(config, tokenizer, labels, characters=tokenizer)
    return made, build_model(made).eval()


def answer(task: Task, model: torch.nn.Module, ids, lengths) -> torch.Tensor:
    """What the model says of the real tokens: (B, ...)"""
    if isinstance(task, Generate):
        return model(ids).logits
    if isinstance(task, Tag) and task.spelling is not None:
        words, places = ids.unique(return_inverse=True)
        spellings = (words[:, None] + torch.arange(3)) % len(task.tokenizer)
        return model(ids, lengths, spellings, 1 + words % 3, places)
    return model(ids, lengths)


def ids_of(task: Task) -> torch.Tensor:
    return torch.randint(3, len(task.tokenizer), (3, 5), generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("name", MODELS)
def test_alone_as_in_a_padded_batch(name) -> None:
    task, model = make(name)
    ids = ids_of(task)
    with torch.inference_mode():
        together = answer(task, model, ids, LENGTHS)
        for i, n in enumerate(LENGTHS.tolist()):
            for padding in (0, 2):
                row = torch.nn.functional.pad(ids[i : i + 1, :n], (0, padding), value=1)
                alone = answer(task, model, row, torch.tensor([n]))[0]
                whole = together[i]
                if whole.dim() == 2:  # a vector for each token
                    alone, whole = alone[:n], whole[:n]
                torch.testing.assert_close(alone, whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_tapped_as_untapped(name) -> None:
    task, model = make(name)
    ids = ids_of(task)
    with torch.inference_mode():
        plain = answer(task, model, ids, LENGTHS)
        with record(model, "*") as trace:
            tapped = answer(task, model, ids, LENGTHS)
    torch.testing.assert_close(tapped, plain, atol=1e-5, rtol=1e-5)
    assert any(path in trace for path in taps(model))
    if "transformer" in MODELS[name]:
        weights = [path for path in taps(model) if path.endswith("attention.weights")]
        assert len(weights) == SMALL["layers"]
        assert trace[weights[0]].shape[:2] == (3, SMALL["heads"])


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("generate")])
def test_step_by_step_as_all_at_once(name) -> None:
    task, model = make(name)
    ids = ids_of(task)  # shorter than the context
    with torch.inference_mode():
        whole = model(ids).logits
        state = model.start(3)
        for t in range(ids.shape[1]):
            logits, state = model.step(ids[:, t], state)
            torch.testing.assert_close(logits, whole[:, t], atol=1e-5, rtol=1e-5)
        rows = torch.tensor([2, 0, 2])
        chosen, _ = model.step(ids[rows, 0], model.select(state, rows))
        every, _ = model.step(ids[:, 0], state)
    torch.testing.assert_close(chosen, every[rows], atol=1e-5, rtol=1e-5)
