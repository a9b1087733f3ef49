"""How fast is a training step of each cell, measured against torch.nn and others?

    python bench/recurrent.py [--quick] [--json FILE] [--threads N] [--rounds N] [--only NAME,...]
                              [--sizes 256,512] [--layers 1,2] [--precision fp32,bf16] [--ragged]

Every contestant runs one forward and backward pass, with the gradient of the input, over a batch
(B, T, H) through layers of H units; rounds interleave all contestants in one process, so that a
change in the machine's speed meets them all. bf16 is torch.autocast, ours and torch's alike; there
the modules of torch.nn take part in fp32 as well. Others take part in fp32: the peephole cell's
step through torch.compile, JAX's lax.scan, Keras 3 on JAX, where they are installed.

Printed for each: the median of the rounds and the best; how many times as fast it is as
torch.nn.LSTM (x LSTM, by the medians and by the best) and as its twin, the module of torch.nn with
the same equations (the nearest one, where a cell has other options); and its share of the limit:
the floating-point operations that its matrix products need, divided by its time, as a share of what
a large matrix product of torch reaches in the best of the same rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from peers import PEERS, available, prepare
from timing import Work, best_ratio, parser, ratio, set_up, take_turns, write_json
from unspool.nn import CELLS, Recurrent

LSTM, GRU, RNN, RELU = "torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN tanh", "torch.nn.RNN relu"
TORCH: dict[str, Callable[..., nn.Module]] = {
    LSTM: nn.LSTM,
    GRU: nn.GRU,
    RNN: nn.RNN,
    RELU: partial(nn.RNN, nonlinearity="relu"),
}
TWINS = {"lstm": LSTM, "gru": GRU, "elman": RNN, "irnn": RELU}  # the other cells have none
FORWARD_AND_BACKWARD = 3  # a product in the forward pass makes two of its size in the backward


class Ours(NamedTuple):
    cell: str
    options: dict[str, Any]
    fast: Any = "auto"


# Every cell with its defaults; other options; the reference loop where auto is faster.
OURS = {name: Ours(name, {}) for name in CELLS} | {
    "gru reset=before": Ours("gru", {"reset": "before"}),
    "peephole matrix=full": Ours("peephole", {"matrix": "full"}),
    "elman sigmoid": Ours("elman", {"activation": "sigmoid"}),
    "elman loop": Ours("elman", {}, False),
    "lstm loop": Ours("lstm", {}, False),
    "peephole loop": Ours("peephole", {}, False),
    "coupled loop": Ours("coupled", {}, False),
    "gru loop": Ours("gru", {}, False),
    "mingru loop": Ours("mingru", {}, False),
}


class Setting(NamedTuple):
    batch: int
    steps: int
    hidden: int
    layers: int
    precision: str  # fp32 or bf16
    ragged: bool

    def __str__(self) -> str:
        lengths = "ragged" if self.ragged else "full"
        return (
            f"B {self.batch}, T {self.steps}, H {self.hidden}, layers {self.layers}, "
            f"{self.precision}, {lengths}"
        )

    def precisions(self) -> list[str]:
        """Those that modules of torch.nn are measured in, that of the setting first."""
        return list(dict.fromkeys([self.precision, "fp32"]))

    def named(self, name: str, precision: str) -> str:
        return name if precision == self.precision else f"{name} {precision}"


class Contestant(NamedTuple):
    work: Work
    precision: str
    flops: float  # of the matrix products of a training step
    twin: str = ""


def training_step(model: nn.Module, x: Tensor, lengths: Tensor | None, precision: str) -> None:
    model.zero_grad()
    x.grad = None
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
        if isinstance(model, Recurrent):
            outputs = model(x, lengths).outputs
        elif lengths is None:
            outputs = model(x)[0]
        else:  # as torch's users do it
            packed = nn.utils.rnn.pack_padded_sequence(
                x, lengths, batch_first=True, enforce_sorted=False
            )
            outputs, _ = nn.utils.rnn.pad_packed_sequence(model(packed)[0], batch_first=True)
    outputs.float().sum().backward()


def flops(model: nn.Module, setting: Setting) -> float:
    """Every entry of a matrix is multiplied and added once a token."""
    entries = sum(p.numel() for p in model.parameters() if p.dim() == 2)
    return FORWARD_AND_BACKWARD * 2.0 * entries * setting.batch * setting.steps


def contestants(
    setting: Setting, peers: list[str], only: set[str]
) -> Iterator[tuple[str, Contestant]]:
    torch.manual_seed(1)
    H, layers = setting.hidden, setting.layers
    x = torch.randn(setting.batch, setting.steps, H, requires_grad=True)
    lengths = None
    if setting.ragged:
        lengths = torch.randint(setting.steps // 4, setting.steps + 1, (setting.batch,))
        lengths[0] = setting.steps

    def enter(model: nn.Module, precision: str, twin: str) -> Contestant:
        work = partial(training_step, model, x, lengths, precision)
        return Contestant(work, precision, flops(model, setting), twin)

    for name, module in TORCH.items():
        model = module(H, H, layers, batch_first=True)
        for precision in setting.precisions() if name in only else ():
            yield setting.named(name, precision), enter(model, precision, name)
    for name, (cell, options, fast) in OURS.items():
        if name in only:
            model = Recurrent(cell, H, H, layers=layers, options=options, fast=fast)
            yield name, enter(model, setting.precision, TWINS.get(cell, ""))
    for name in peers if setting.precision == "fp32" and not setting.ragged else ():
        if name in only and (work := prepare(name, x, layers)) is not None:
            cell = PEERS[name].cell
            like = Recurrent(cell, H, H, layers=layers)
            yield name, Contestant(work, "fp32", flops(like, setting), TWINS.get(cell, ""))


def large_product(setting: Setting, precision: str) -> Contestant:
    """The measure of the machine: a matrix product too large for overheads to count."""
    size = min(2048, 8 * setting.hidden)
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    a, b = torch.randn(2, size, size).to(dtype)
    return Contestant(partial(torch.mm, a, b), precision, 2.0 * size**3)


def measure(setting: Setting, rounds: int, entered: dict[str, Contestant]) -> list[dict[str, Any]]:
    """Run the rounds, print a line a contestant, and return the figures."""
    limits = {precision: large_product(setting, precision) for precision in setting.precisions()}
    works = {name: contestant.work for name, contestant in entered.items()}
    works |= {precision: limit.work for precision, limit in limits.items()}
    seconds = take_turns(works, rounds)
    speeds = {name: limit.flops / min(seconds[name]) for name, limit in limits.items()}
    tokens = setting.batch * setting.steps
    columns = [(base, each) for base in ("LSTM", "twin") for each in setting.precisions()]

    said = ", ".join(f"{name} {speed / 1e9:.0f} GFLOP/s" for name, speed in speeds.items())
    print(f"\n{setting}; limit: {said}")
    print(
        f"{'':<23}{'ms':>9}{'best':>9}{'tokens/s':>10}{'of limit':>9}"
        + "".join(f"{f'x {base} {each}':>13}" for base, each in columns)
        + f"{'x LSTM, best':>14}"
    )
    rows = []
    for name, contestant in entered.items():
        times = seconds[name]
        share = contestant.flops / median(times) / speeds[contestant.precision]
        ratios = {}
        for base, each in columns:
            other = setting.named(LSTM if base == "LSTM" else contestant.twin, each)
            ratios[f"{base} {each}"] = ratio(seconds[other], times) if other in seconds else None
        by_best = best_ratio(seconds[LSTM], times)
        print(
            f"{name:<23}{1e3 * median(times):>9.1f}{1e3 * min(times):>9.1f}"
            f"{tokens / median(times):>10,.0f}{share:>9.1%}"
            + "".join(
                f"{'-' if value is None else f'{value:.2f}':>13}" for value in ratios.values()
            )
            + f"{by_best:>14.2f}",
            flush=True,
        )
        rows.append(
            {
                **setting._asdict(),
                "name": name,
                "tokens_per_second": tokens / median(times),
                "ratio": ratios[f"LSTM {setting.precision}"],
                "ratios": ratios,
                "ratio_of_best": by_best,
                "share_of_limit": share,
                "seconds": times,
            }
        )
    return rows


def with_twins(names: list[str]) -> set[str]:
    """These contestants, what each is compared with, and torch.nn.LSTM."""
    cells = {name: each.cell for name, each in [*OURS.items(), *PEERS.items()]}
    for name in names:
        if name not in cells and name not in TORCH:
            raise SystemExit(f"no contestant {name!r}; there are: {', '.join([*TORCH, *cells])}")
    twins = {TWINS.get(cells.get(name, ""), LSTM) for name in names}
    return {LSTM, *names, *twins}


def main() -> None:
    arguments = parser(__doc__, rounds=7)
    arguments.add_argument("--only", default="", help="names, separated by commas")
    arguments.add_argument("--sizes", default="256,512", help="hidden units")
    arguments.add_argument("--layers", default="1,2")
    arguments.add_argument("--precision", default="fp32,bf16")
    arguments.add_argument("--ragged", action="store_true", help="also lengths from T / 4 to T")
    options = arguments.parse_args()
    machine = set_up(options)
    if options.ragged:
        print("ragged batches count padding as tokens, for all alike")

    batch, steps, sizes = (8, 16, "32") if options.quick else (64, 128, options.sizes)
    only = with_twins(options.only.split(",")) if options.only else {*TORCH, *OURS, *PEERS}
    peers = available()
    rows: list[dict[str, Any]] = []
    for hidden, layers, precision, ragged in product(
        map(int, sizes.split(",")),
        map(int, options.layers.split(",")),
        options.precision.split(","),
        (False, True) if options.ragged else (False,),
    ):
        setting = Setting(batch, steps, hidden, layers, precision, ragged)
        entered = dict(contestants(setting, peers, only))
        rows += measure(setting, options.rounds, entered)
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
