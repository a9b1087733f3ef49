"""Contextual vectors: no direction sees the other, company changes nothing, a mix learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from small_tasks import token_part
from unspool.data.fields.spelling import BYTE_IDS, SpelledWords, collate_words
from unspool.nn.elmo import Contextual, Elmo, ElmoOptions, Highway, Mix

OPTIONS = ElmoOptions(
    symbols=BYTE_IDS, character=4, filters=3, widths=(1, 2, 3), size=6, hidden=16, layers=2
)


def words_of(*texts: str) -> SpelledWords:
    words = [text.split() for text in texts]
    part = token_part([np.ones(len(each), dtype=np.int64) for each in words], words)
    return collate_words(part["text"], np.arange(len(texts)))


def make() -> Elmo:
    torch.manual_seed(1)
    return Elmo(OPTIONS).eval()


@torch.no_grad()
def test_no_direction_sees_the_other() -> None:
    elmo = make()
    before, after = (elmo(*words_of(text)) for text in ("a b c d e", "a b x d e"))
    changed = 3  # in the frame
    for j in range(OPTIONS.layers):
        differ = (before.forwards[j] - after.forwards[j])[0].abs().amax(1) > 1e-7
        assert differ.nonzero().flatten().tolist() == list(range(changed, 7))
        differ = (before.backwards[j] - after.backwards[j])[0].abs().amax(1) > 1e-7
        assert differ.nonzero().flatten().tolist() == list(range(changed + 1))


@torch.no_grad()
def test_the_backward_model_is_a_forward_one_of_the_text_reversed() -> None:
    elmo = make()
    elmo.backwards.load_state_dict(elmo.forwards.state_dict())
    words = words_of("a b c d")
    mirrored = words._replace(which=words.which.flip(1))
    torch.testing.assert_close(
        elmo(*words).backwards[-1].flip(1), elmo(*mirrored).forwards[-1], atol=1e-6, rtol=1e-5
    )


@torch.no_grad()
def test_the_same_text_has_the_same_vectors_in_any_company() -> None:
    elmo = make()
    texts = ["give me the stick", "stick", "let 's stick to improving our work together"]
    together = elmo.vectors(*words_of(*texts))
    for i, text in enumerate(texts):
        alone = elmo.vectors(*words_of(text))
        length = len(text.split())
        for a, b in zip(alone, together, strict=True):
            assert a.shape == (1, length, 2 * OPTIONS.size)
            torch.testing.assert_close(a[0], b[i, :length], atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_context_changes_a_word_but_not_its_spelling() -> None:
    elmo = make()
    a, b = elmo.vectors(*words_of("give me the stick", "let 's stick to"))[0][[0, 1], [3, 2]]
    torch.testing.assert_close(a, b)
    top = elmo.vectors(*words_of("give me the stick", "let 's stick to"))[2]
    assert (top[0, 3] - top[1, 2]).abs().max() > 1e-3


def test_a_mix_is_a_weighted_mean_of_normed_layers_times_a_scale() -> None:
    mix = Mix(3)
    layers = [scale * torch.randn(2, 4, 6) for scale in (1.0, 5.0, 0.2)]
    normed = [
        (h - h.mean(-1, keepdim=True)) / (h.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        for h in layers
    ]
    torch.testing.assert_close(mix(layers), torch.stack(normed).mean(0))
    with torch.no_grad():
        mix.w.copy_(torch.tensor([0.0, 1.0, -50.0]))
        mix.gamma.fill_(2.0)
    s = torch.tensor([1.0, torch.e, 0.0]) / (1 + torch.e)
    torch.testing.assert_close(mix(layers), 2 * (s[0] * normed[0] + s[1] * normed[1]))
    assert "0.27, 0.73, 0.00; times 2.00" in mix.describe()


@pytest.mark.parametrize("tuned", [False, True])
def test_only_the_mix_learns_unless_tuned(tuned) -> None:
    torch.manual_seed(1)
    contextual = Contextual(OPTIONS._replace(dropout=0.5), tuned=tuned).train()
    contextual(*words_of("a b c", "d")).square().sum().backward()
    learn = {name for name, p in contextual.named_parameters() if p.grad is not None}
    assert {"mix.w", "mix.gamma"} <= learn
    assert (len(learn) > 2) == tuned
    assert contextual.elmo.training == tuned


def test_a_highway_lets_its_input_pass() -> None:
    torch.manual_seed(1)
    layer = Highway(4)
    x = torch.randn(3, 4)
    W, W_g = layer.linear.weight.chunk(2)
    b, b_g = layer.linear.bias.chunk(2)
    g = torch.sigmoid(x @ W_g.T + b_g)
    torch.testing.assert_close(layer(x), g * torch.relu(x @ W.T + b) + (1 - g) * x)
    assert g.mean() < 0.3  # at first
