"""How fast does our Transformer encoder train and read, beside torch's?

    python bench/transformer.py [--quick] [--json FILE] [--threads N] [--rounds N] [--compile]
                                [--lengths 128,1024] [--precision fp32,bf16] [--dropout 0.0]

Four layers, width 256, four heads, 1024 units in the feed-forward layers, pre-norm. Batches: full,
of 8,192 tokens; and ragged, 64 texts with the lengths in words of IMDB's reviews (at most 400) or
of SST-2's sentences, drawn at random or "bucketed" (cut from 6,400 sorted by length). A training
step is one forward and backward pass, with the gradient of the input; reading is a forward pass
without gradients.

    unspool              TransformerEncoder
    unspool padded       the same with fast=False
    torch                nn.TransformerEncoder, with src_key_padding_mask where the batch is ragged
    sdpa                 blocks of linear layers around scaled_dot_product_attention, with a mask
    sdpa compiled        the same through torch.compile (--compile: it takes half a minute a shape)

All have the same weights, and their outputs at real tokens are compared first. They take turns.
Printed: real tokens a second by the median round, and how many times as fast as torch and as the
best of torch (all but ours) that is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ragged import REVIEWS, draw, word_counts
from timing import DATA, parser, ratio, set_up, take_turns, write_json
from unspool.nn import TransformerEncoder, TransformerOptions, keep_mask
from unspool.training.machine import tune_process

WIDTH, HEADS, LAYERS, HIDDEN = 256, 4, 4, 1024
TOKENS, BATCH = 8192, 64
SENTENCES = DATA / "sentiment/sent-conv/stsa.binary.train"


class Case(NamedTuple):
    """A batch: x (B, T, E), and lengths (B,) where it has padding."""

    name: str
    x: Tensor
    lengths: Tensor | None

    @property
    def real(self) -> int:
        return (
            self.x.shape[0] * self.x.shape[1] if self.lengths is None else int(self.lengths.sum())
        )


def keep_of(x: Tensor, lengths: Tensor | None) -> Tensor | None:
    return None if lengths is None else keep_mask(lengths, x.shape[1])


class Ours(nn.Module):
    def __init__(self, network: TransformerEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        return self.network(x, lengths).outputs


class Block(nn.Module):
    """What one writes with torch alone: pre-norm, one product for queries, keys and values."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.drop(self.out(y.transpose(1, 2).flatten(2)))
        return x + self.drop(self.down(torch.relu(self.up(self.norm2(x)))))


class Blocks(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        keep = keep_of(x, lengths)
        mask = None if keep is None else keep[:, None, None]
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)


class Torch(nn.Module):
    """nn.TransformerEncoder with our interface. Its attention has no dropout either."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, HIDDEN, dropout, batch_first=True, norm_first=True
        )
        layer.self_attn.dropout = 0.0
        self.stack = nn.TransformerEncoder(
            layer, LAYERS, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False
        )

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        keep = keep_of(x, lengths)
        return self.stack(x, src_key_padding_mask=None if keep is None else ~keep)


def contestants(dropout: float, compiled: bool) -> dict[str, nn.Module]:
    """Models with the weights of ours; their parameters come in the same order, block by block."""
    options = TransformerOptions(
        WIDTH, HEADS, layers=LAYERS, hidden=HIDDEN, dropout=dropout, positions="none"
    )
    ours, padded = TransformerEncoder(options), TransformerEncoder(options, fast=False)
    ours.dropout = padded.dropout = nn.Identity()  # on the input: the others have none
    blocks, torchs = Blocks(dropout), Torch(dropout)
    padded.load_state_dict(ours.state_dict())
    with torch.no_grad():
        for mine, block, layer in zip(ours.layers, blocks.blocks, torchs.stack.layers):
            attention, feed = mine.attention, mine.feed_forward
            weights = [
                (attention.W, block.qkv.weight, layer.self_attn.in_proj_weight),
                (attention.b, block.qkv.bias, layer.self_attn.in_proj_bias),
                (attention.W_o, block.out.weight, layer.self_attn.out_proj.weight),
                (attention.b_o, block.out.bias, layer.self_attn.out_proj.bias),
                (feed.W_1.weight, block.up.weight, layer.linear1.weight),
                (feed.W_1.bias, block.up.bias, layer.linear1.bias),
                (feed.W_2.weight, block.down.weight, layer.linear2.weight),
                (feed.W_2.bias, block.down.bias, layer.linear2.bias),
            ]
            for source, *targets in weights:
                for target in targets:
                    target.copy_(source)
    found: dict[str, nn.Module] = {
        "unspool": Ours(ours),
        "unspool padded": Ours(padded),
        "torch": torchs,
        "sdpa": blocks,
    }
    if compiled:
        torch._dynamo.reset()
        found["sdpa compiled"] = torch.compile(blocks, dynamic=False)  # type: ignore[assignment]
    return found


def autocast(precision: str) -> AbstractContextManager[Any]:
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")


def train(model: nn.Module, case: Case, precision: str) -> None:
    model.zero_grad()
    case.x.grad = None
    with autocast(precision):
        y = model(case.x, case.lengths)
    y.sum().backward()


def read(model: nn.Module, case: Case, precision: str) -> None:
    with torch.inference_mode(), autocast(precision):
        model(case.x, case.lengths)


def cases(options: Any) -> list[Case]:
    made = []
    tokens, batch = (512, 4) if options.quick else (TOKENS, BATCH)
    for length in map(int, options.lengths.split(",")):
        length = min(length, tokens)
        x = torch.randn(tokens // length, length, WIDTH, requires_grad=True)
        made.append(Case(f"full, {length} steps", x, None))
    if not REVIEWS.exists() or not SENTENCES.exists():
        print(f"skipped: ragged batches, as there are no texts at {DATA}")
        return made
    for name, counts in {"reviews": word_counts(), "sentences": sentence_counts()}.items():
        for way in ("random", "bucketed"):
            # One batch: of the bucketed ones that from the middle.
            x, lengths = draw(counts, way, WIDTH, 1, batch)[0]
            made.append(Case(f"{name}, {way}", x, lengths))
    return made


def sentence_counts() -> np.ndarray:
    with SENTENCES.open(encoding="utf-8") as file:
        return np.array([len(line.split()) - 1 for line in file])  # without the label


def agree(models: dict[str, nn.Module], case: Case) -> None:
    """Refuse to compare the speed of models that do not compute the same."""
    keep = keep_of(case.x, case.lengths)
    keep = torch.ones(case.x.shape[:2], dtype=torch.bool) if keep is None else keep
    with torch.no_grad():
        outputs = {name: model.eval()(case.x, case.lengths)[keep] for name, model in models.items()}
    for name, y in outputs.items():
        torch.testing.assert_close(y, outputs["unspool"], rtol=0, atol=1e-3, msg=name)


def measure(case: Case, options: Any, precision: str) -> list[dict[str, Any]]:
    models = contestants(options.dropout, options.compile)
    agree(models, case)
    share = 1 - case.real / (case.x.shape[0] * case.x.shape[1])
    print(f"\n{case.name}, {len(case.x)} sequences, {share:.0%} padding, {precision}")
    print(f"{'':<12}{'':<16}{'tokens/s':>10}{'x torch':>9}{'x best':>9}")
    rows = []
    works: dict[str, Callable[[nn.Module, Case, str], None]] = {"training": train, "reading": read}
    for what, work in works.items():
        for model in models.values():
            model.train(what == "training")
        turns = {name: partial(work, model, case, precision) for name, model in models.items()}
        seconds = take_turns(turns, options.rounds)
        best = min((s for name, s in seconds.items() if "unspool" not in name), key=median)
        for name, times in seconds.items():
            row = {
                "case": case.name,
                "padding": share,
                "precision": precision,
                "work": what,
                "contestant": name,
                "tokens_per_second": case.real / median(times),
                "x_torch": ratio(seconds["torch"], times),
                "x_best": ratio(best, times),
                "seconds": times,
            }
            rows.append(row)
            print(
                f"{what:<12}{name:<16}{row['tokens_per_second']:>10,.0f}"
                f"{row['x_torch']:>9.2f}{row['x_best']:>9.2f}",
                flush=True,
            )
    return rows


def main() -> None:
    arguments = parser(__doc__, rounds=7)
    arguments.add_argument("--lengths", default="128,1024", help="of full batches")
    arguments.add_argument("--precision", default="fp32", help="fp32,bf16")
    arguments.add_argument("--dropout", type=float, default=0.0, help="on sublayers")
    arguments.add_argument("--compile", action="store_true", help="sdpa compiled, too")
    options = arguments.parse_args()
    machine = set_up(options)
    tune_process(torch.get_num_threads())  # as in training: it favours all alike
    torch.manual_seed(1)
    rows: list[dict[str, Any]] = []
    for case in cases(options):
        for precision in options.precision.split(","):
            rows += measure(case, options, precision)
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
