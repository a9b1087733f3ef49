"""A pretrained folder as our own modules.

In: the path of a BERT, RoBERTa, DistilBERT or GPT-2 folder. Out: a `Pretrained`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from unspool.errors import RunError
from unspool.nn.heads import FirstVector, MaskedOutput, TokenOutput
from unspool.nn.inputs import TokenEmbedding
from unspool.nn.pairs import SegmentVectors
from unspool.nn.pretrained.layouts import CheckpointLayout, Source, layout_of
from unspool.nn.pretrained.weights import COPY, CheckpointWeights, Settings, read_json
from unspool.nn.transformer import TransformerDecoder, TransformerEncoder


class Pretrained(nn.Module):
    """An embedding, a Transformer, and the heads that the folder holds: the others are None.

    segments     what the second of two texts adds to its vectors; None of a causal one
    output       scores (B, T, V): for the token at each step (BERT and its kin), or for the next
                 one (GPT-2)
    pooler       f(W h_0 + b), (B, E), of the first token's vector
    classifier   scores (B, C) from what the pooler gives
    """

    def __init__(
        self, layout: CheckpointLayout, *, masked: bool, pooler: bool, classes: int | None
    ) -> None:
        super().__init__()
        self.kind, self.options = layout.kind, layout.options
        width, vocab = layout.options.width, layout.vocab
        self.embedding = TokenEmbedding(vocab, width)
        self.segments = None if layout.causal else SegmentVectors(width)
        self.transformer: TransformerEncoder | TransformerDecoder
        self.output: MaskedOutput | TokenOutput | None
        if layout.causal:
            self.transformer = TransformerDecoder(layout.options, cross=False)
            self.output = TokenOutput(width, vocab, tied_to=self.embedding)
        else:
            self.transformer = TransformerEncoder(layout.options)
            self.output = (
                MaskedOutput(
                    self.embedding,
                    activation=layout.options.activation,
                    epsilon=layout.options.epsilon,
                )
                if masked
                else None
            )
        self.pooler = FirstVector(width, activation=layout.pooler_activation) if pooler else None
        self.classifier = nn.Linear(width, classes) if classes else None

    def forward(
        self, ids: Tensor, lengths: Tensor | None = None, firsts: Tensor | None = None
    ) -> Tensor:
        """ids (B, T) and their lengths (B,), None: all are T -> vectors (B, T, E); firsts (B,): of
        two texts, the step where the second begins."""
        x = self.embedding(ids)
        if firsts is not None and self.segments is not None:
            x = self.segments(x, firsts)
        return self.transformer(x, lengths).outputs

    def describe(self) -> str:
        return f"{self.kind}: {self.transformer.describe()}"


def is_pretrained(folder: Path) -> bool:
    """Whether the config.json of a folder names a kind of model, as no run's does."""
    return "model_type" in read_json(folder / "config.json")


def read_pretrained(path: str | Path) -> Pretrained:
    """The model of a folder, in evaluation mode. Nothing in the folder is executed."""
    folder = Path(path)
    if not folder.is_dir():
        raise RunError("no such folder", where=folder, remedy="check the path")
    layout = layout_of(Settings(folder / "config.json"))
    weights = CheckpointWeights(folder)
    head, pooler = f"{layout.classifier}.weight", _pooler(layout, weights)
    model = Pretrained(
        layout,
        masked=any(name in weights for name in layout.masked.values()),
        pooler=pooler is not None,
        classes=len(weights[head]) if head in weights else None,
    ).eval()
    tensors = _encoder_tensors(layout, weights)
    if isinstance(model.output, TokenOutput):
        tensors["output.b"] = torch.zeros(layout.vocab)
    if isinstance(model.output, MaskedOutput):
        tensors |= {f"output.{ours}": weights[name] for ours, name in layout.masked.items()}
    for part in ("weight", "bias"):
        if model.pooler is not None:
            tensors[f"pooler.dense.{part}"] = weights[f"{pooler}.{part}"]
        if model.classifier is not None:
            tensors[f"classifier.{part}"] = weights[f"{layout.classifier}.{part}"]
    _fill(model, tensors, folder)
    return model


def _pooler(layout: CheckpointLayout, weights: CheckpointWeights) -> str | None:
    """The name of the pooler that a folder has; a model without any head has no prefix."""
    names = [name for each in layout.poolers for name in (each, each.removeprefix(layout.prefix))]
    return next((name for name in names if f"{name}.weight" in weights), None)


def _encoder_tensors(layout: CheckpointLayout, weights: CheckpointWeights) -> dict[str, Tensor]:
    """Our state dict of the embedding and the Transformer."""
    prefix = "" if str(layout.tensors["embedding.weight"]) in weights else layout.prefix

    def read(source: Source) -> Tensor:
        names = (source,) if isinstance(source, str) else source
        return torch.cat([weights[prefix + name] for name in names])

    def rows(block: Mapping[str, Source], before: str) -> dict[str, Tensor]:
        encoder = {}
        for ours, source in block.items():
            names = (source,) if isinstance(source, str) else source
            tensor = read(tuple(before + name for name in names))
            encoder[ours] = tensor.T if layout.transposed and tensor.dim() == 2 else tensor
        return encoder

    tensors = {ours: read(source) for ours, source in layout.tensors.items()}
    positions = tensors["transformer.positions.P"][layout.first_position :]
    segments = torch.zeros(2, positions.shape[1])
    if layout.token_types is not None:
        types = read(layout.token_types)
        positions = positions + types[0]
        segments[1] = types[1] - types[0] if len(types) > 1 else 0
    tensors["transformer.positions.P"] = positions
    if not layout.causal:
        tensors["segments.S"] = segments
    for number in range(layout.options.layers):
        block = rows(layout.block, layout.layer.format(number))
        tensors |= {f"transformer.layers.{number}.{ours}": tensor for ours, tensor in block.items()}
    return tensors


def _fill(model: Pretrained, tensors: dict[str, Tensor], folder: Path) -> None:
    for name, expected in model.state_dict().items():
        if tensors[name].shape != expected.shape:
            raise RunError(
                f"the tensor for {name} should have shape {tuple(expected.shape)}",
                where=folder,
                got=tuple(tensors[name].shape),
                remedy="its config.json and its weights do not belong together; " + COPY,
            )
    model.load_state_dict(tensors)
