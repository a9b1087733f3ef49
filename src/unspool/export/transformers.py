"""`unspool export RUN --to transformers`: a Transformer of this package in, a folder that Hugging
Face's `transformers` loads with equal scores out.

    hidden tokens       BertForMaskedLM
    labels, numbers     BertForSequenceClassification; of a vector before the text (pooling=cls)
    the next token      GPT2LMHeadModel

With norm=pre, BERT is Megatron-BERT. What these architectures have no place for is put into their
weights:

    scale of the embedding       its rows are multiplied; the output layer then has its own matrix
    fixed positions              a table of them
    the vector before a text     one more token, which the tokenizer puts there
    temperature, units           part of the output layer
    the pooler's tanh            W = 2⁻¹² I, where tanh is the identity to 10⁻⁷; V becomes 2¹² V
    a language model's bias      a wider stream (`widening.py`)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from unspool.errors import ConfigError
from unspool.export.checkpoint import Checkpoint, checkpoint_of, config_of
from unspool.export.folder import new_folder, refuse_full
from unspool.export.hub_tokenizer import write_tokenizer
from unspool.io.files import write_atomic, write_json
from unspool.nn.pretrained.layouts import LAYOUTS
from unspool.nn.pretrained.weights import Settings
from unspool.nn.pretrained.writing import stored_tensors

TOLERANCE = 1e-5
SIZES = ((1, 1), (3, 7), (2, 2), (4, 11))  # batch, steps: those of the check

AUTO = {
    "MaskedLM": "AutoModelForMaskedLM",
    "SequenceClassification": "AutoModelForSequenceClassification",
    "LMHeadModel": "AutoModelForCausalLM",
}


class ExportedFolder(NamedTuple):
    """A folder for `transformers`.

    error     the largest difference from the scores of this package, as a share of them; None where
              `transformers` is not installed
    tokens    None: the tokenizer is there; otherwise why it is not
    """

    folder: Path
    architecture: str
    files: tuple[str, ...]
    parameters: int
    error: float | None
    tokens: str | None

    def lines(self) -> list[str]:
        auto = AUTO[self.architecture.partition("For")[2] or self.architecture[4:]]
        return [
            f"{self.folder}: {', '.join(self.files)}; {self.architecture},"
            f" {self.parameters:,} parameters",
            "not verified: transformers is not installed"
            if self.error is None
            else f"verified in transformers on {len(SIZES)} batches: scores differ by"
            f" {self.error:.1e} at most",
            *([] if self.tokens is None else [f"without a tokenizer: {self.tokens}"]),
            f"next: {auto}.from_pretrained({str(self.folder)!r})",
        ]

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "folder": str(self.folder)}


def export_transformers(
    task: Any, model: nn.Module, folder: Path, *, source: str
) -> ExportedFolder:
    """Write config.json, model.safetensors and the tokenizer of a run into a new folder."""
    refuse_full(folder)
    made = checkpoint_of(task, model.eval())
    config = config_of(made)
    layout = LAYOUTS[made.kind](Settings(folder / "config.json", config))
    tensors = {**stored_tensors(layout, made.tensors), **made.head}
    # Copies: safetensors refuses two names for one memory.
    tensors = {name: tensor.detach().float().clone(memory_format=torch.contiguous_format)
               for name, tensor in tensors.items()}  # fmt: skip
    pair = task.input_field.kind == "pair"
    with new_folder(folder) as partial:
        write_json(partial / "config.json", config)
        write_atomic(partial / "model.safetensors", save(tensors, {"format": "pt"}))
        error = verify(partial, made, pair=pair)
        tokens = write_tokenizer(
            partial, task.tokenizer, cls=made.cls, pair=pair, longest=made.options.length
        )
        write_atomic(partial / "README.md", readme(source, made, tokens))
    return ExportedFolder(
        folder,
        made.architecture,
        tuple(sorted(path.name for path in folder.iterdir())),
        sum(tensor.numel() for tensor in tensors.values()),
        error,
        tokens,
    )


def example_batches(made: Checkpoint) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Random ids, of lengths that differ within a batch, and where a second text begins."""
    rng, most = np.random.default_rng(0), made.options.length or 1
    begins = made.cls is not None
    words = made.vocab - begins
    for batch, steps in SIZES:
        steps = min(steps + 2, most)
        if steps < 2:
            continue
        lengths = torch.from_numpy(rng.integers(2, steps + 1, batch))
        lengths[0] = steps
        ids = torch.from_numpy(rng.integers(1, words, (batch, steps)))
        if begins:
            ids[:, 0] = made.vocab - 1
        ids[torch.arange(steps) >= lengths[:, None]] = 0
        yield ids, lengths, torch.maximum(lengths // 2, torch.tensor(1))


def verify(folder: Path, made: Checkpoint, *, pair: bool) -> float | None:
    """The largest difference between the scores of both; a ConfigError where it is too large."""
    if find_spec("transformers") is None:
        return None
    import transformers

    kind, log = getattr(transformers, made.architecture), transformers.utils.logging
    shown = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    theirs = kind.from_pretrained(folder, local_files_only=True).eval()
    if shown:
        log.enable_progress_bar()
    worst = 0.0
    for ids, lengths, firsts in example_batches(made):
        keep = torch.arange(ids.shape[1]) < lengths[:, None]
        options: dict[str, Any] = {"attention_mask": keep.long()}
        if pair:
            second = torch.arange(ids.shape[1]) >= firsts[:, None]
            options["token_type_ids"] = second.long()
        with torch.inference_mode():
            ours = made.expected(ids, lengths, firsts)
            scores = theirs(ids, **options).logits
        if ours.dim() == 3:
            ours, scores = ours[keep], scores[keep]
        scale = max(1.0, float(ours.abs().max()))
        worst = max(worst, float((ours - scores).abs().max()) / scale)
    if not worst <= TOLERANCE:
        raise ConfigError(
            f"{made.architecture} does not answer as the model does: scores differ by {worst:.2g}",
            remedy="report it with the run; nothing was written",
        )
    return worst


def readme(source: str, made: Checkpoint, tokens: str | None) -> str:
    auto = AUTO[made.config["head"].removeprefix("For")]
    example = [
        f"    from transformers import AutoTokenizer, {auto}",
        "",
        f'    model = {auto}.from_pretrained(".")',
        '    tokenizer = AutoTokenizer.from_pretrained(".")',
        '    print(model(**tokenizer("some text", return_tensors="pt")).logits)',
    ]
    notes = [
        f"{name}: {value}" for name, value in asdict(made.options).items() if value is not None
    ]
    missing = [] if tokens is None else ["", f"There is no tokenizer: {tokens}."]
    return "\n".join(
        [
            f"# {source} as {made.architecture}",
            "",
            *example,
            *missing,
            "",
            *(f"* {n}" for n in notes),
            "",
        ]
    )
