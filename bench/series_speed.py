"""How fast do series train, and forecasts train and backtest, against other libraries?

    python bench/series_speed.py [--rounds 3] [--only activity|forecast] [--steps 60]

activity   UCI HAR, three axes, 2,000 ragged pieces of 32 to 256 steps: an epoch of a BiLSTM of 64
           units on the channels as they are, forward, backward and AdamW. Ours (bf16 where the
           processor has it, and float32) in batches of similar length; nn.LSTM in random batches,
           padded (so that its backward direction reads the padding) and packed; tsai's LSTM,
           padded, where it is installed.
forecast   M4 hourly, 48 hours from 168, one GRU of 64 units for all series, batches of 256 windows:
           windows a second in training, and in a backtest from 24 origins of each series, against
           NeuralForecast's GRU, where it is installed (pip install neuralforecast). Its time is
           that of so many steps more, without what it does before the first; its backtest is
           `cross_validation` and the MSE, MAE and sMAPE of its forecasts, ours has the figures of
           three naive forecasts, MASE, OWA, coverage and intervals beside them.

With --threads 1 the seconds of a backtest are those of the processor, so that other work on the
machine does not count. Contestants take turns in one process. Without ../shared/data (or
$UNSPOOL_DATA) it says so.
"""

from __future__ import annotations

import logging
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import unspool
from forecasts import M4, m4_file
from timing import DATA, installed, parser, set_up, take_turns, write_json
from unspool.api.settings import make_config
from unspool.tasks import TASKS, build_model
from unspool.tasks.planner import open_plan
from unspool.training.machine import autocast, has_bf16
from unspool.training.optim import build_optimizer

PIECES, SHORTEST, LONGEST, BATCH, HIDDEN = 2000, 32, 256, 64, 64
WINDOWS, ORIGINS, LENGTH, HORIZON = 256, 24, 168, 48


def pieces() -> tuple[list[np.ndarray], list[str]]:
    """Ragged pieces of the recordings, and their labels."""
    rng, found, labels = np.random.default_rng(1), [], []
    paths = sorted((DATA / "activity/uci_har_acc/Train").glob("*/*.csv"))
    recordings = [np.loadtxt(p, delimiter=",", skiprows=1, dtype=np.float32) for p in paths]
    for _ in range(PIECES):
        number, length = rng.integers(len(paths)), int(rng.integers(SHORTEST, LONGEST + 1))
        x = recordings[number]
        length = min(length, len(x))
        start = int(rng.integers(len(x) - length + 1))
        found.append(x[start : start + length])
        labels.append(paths[number].parent.name)
    return found, labels


class PlainLSTM(nn.Module):
    def __init__(self, classes: int, *, packed: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, HIDDEN, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * HIDDEN, classes)
        self.packed = packed

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        if not self.packed:
            return self.output(self.lstm(x)[0].amax(1))
        together = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        out, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(together)[0], batch_first=True, padding_value=-torch.inf
        )
        return self.output(out.amax(1))


def update(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def plain_epoch(
    model: nn.Module, x: list[np.ndarray], y: Tensor, forward: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[], None]:
    """Random batches, padded with zeros."""
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    series = [torch.from_numpy(own) for own in x]

    def batches() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for rows in torch.randperm(len(series)).split(BATCH):
            some = [series[row] for row in rows]
            lengths = torch.tensor([len(own) for own in some])
            yield nn.utils.rnn.pad_sequence(some, batch_first=True), lengths, y[rows]

    def epoch() -> None:
        for values, lengths, truth in batches():
            update(model, optimizer, F.cross_entropy(forward(values, lengths), truth))

    return epoch


def our_epoch(x: list[np.ndarray], labels: list[str], precision: str) -> Callable[[], None]:
    from unspool.data.read.memory import columns_of

    config = make_config(
        "classify", "bilstm",
        settings={"input": "series", "hidden": HIDDEN, "embedding": 0, "batch": BATCH,
                  "dropout": 0.0, "valid_share": 0.0},
    )  # fmt: skip
    data = columns_of({"series": x, "label": labels})
    plan = open_plan(data, config.data, "classify")
    corpus = TASKS["classify"].load_corpus(config, {"train": plan})
    task = TASKS["classify"](config, corpus.fields)
    model = build_model(task, training=True)
    optimizer = build_optimizer(model, config.train)
    batches, epochs = task.batches(corpus.parts["train"], training=True), iter(range(1000))

    def epoch() -> None:
        number = next(epochs)
        for step in range(batches.steps(number)):
            with autocast(precision):
                loss = task.loss(model, batches.batch(number, step), None).loss
            update(model, optimizer, loss)

    return epoch


def activity(rounds: int) -> dict[str, list[float]]:
    x, labels = pieces()
    names = sorted(set(labels))
    y = torch.tensor([names.index(label) for label in labels])
    works = {"unspool, float32": our_epoch(x, labels, "fp32")}
    if has_bf16():
        works["unspool, bf16"] = our_epoch(x, labels, "bf16")
    for packed in (False, True):
        model = PlainLSTM(len(names), packed=packed)
        works[f"torch, {'packed' if packed else 'padded'}"] = plain_epoch(model, x, y, model)
    if installed("tsai"):
        from tsai.models.RNN import LSTM

        tsai = LSTM(3, len(names), hidden_size=HIDDEN, bidirectional=True)
        works["tsai, padded"] = plain_epoch(tsai, x, y, lambda v, _: tsai(v.transpose(1, 2)))
    return take_turns(works, rounds)


def seconds(work: Callable[[], object]) -> float:
    """Of one thread those of the processor, whatever else the machine does; else of the clock."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    started = clock()
    work()
    return clock() - started


def our_forecasts(path: Path, scratch: Path, steps: int) -> tuple[float, float]:
    """Windows a second in training and in the backtest."""
    settings = {**M4, "patch": 1, "hidden": HIDDEN, "embedding": 0, "dropout": 0.0,
                "batch": WINDOWS, "windows": WINDOWS * steps, "epochs": 1,
                "valid_steps": 0, "valid_share": 0.0,
                "test_steps": HORIZON + ORIGINS - 1,
                "threads": torch.get_num_threads()}  # fmt: skip
    run = unspool.train(
        path, task="forecast", model="gru", out=scratch / f"run{time.monotonic_ns()}", quiet=True,
        baseline=False, **settings,
    )  # fmt: skip
    trained = run.counters.step * WINDOWS / run.counters.seconds
    evaluated = seconds(lambda: run.task.evaluate(run.model, run.parts["test"]))
    return trained, len(run.parts["test"]) * ORIGINS / evaluated


def neural_forecast(frame: Any, steps: int) -> tuple[float, float]:
    from neuralforecast import NeuralForecast
    from neuralforecast.models import GRU
    from utilsforecast.evaluation import evaluate
    from utilsforecast.losses import mae, mse, smape

    def made(count: int) -> Any:
        model = GRU(
            h=HORIZON, input_size=LENGTH, encoder_hidden_size=HIDDEN, encoder_n_layers=1,
            decoder_hidden_size=HIDDEN, decoder_layers=1, max_steps=count, recurrent=False,
            windows_batch_size=WINDOWS, batch_size=32, inference_windows_batch_size=1024,
            scaler_type="standard", enable_progress_bar=False, logger=False,
            enable_checkpointing=False, accelerator="cpu", enable_model_summary=False,
        )  # fmt: skip
        return NeuralForecast(models=[model], freq=1)

    def backtest(model: Any) -> Any:
        found = model.cross_validation(frame, n_windows=ORIGINS, step_size=1)
        return evaluate(found.drop(columns="cutoff"), metrics=[mse, mae, smape])

    made(1).fit(frame)  # what is done once in a process
    started = time.perf_counter()
    few = seconds(lambda: made(1).fit(frame))
    between = time.perf_counter()
    made(1 + steps).fit(frame)
    more = (time.perf_counter() - between) - (between - started)
    origins = seconds(lambda: backtest(made(1)))
    forecasts = frame["unique_id"].nunique() * ORIGINS
    return steps * WINDOWS / more, forecasts / max(1e-9, origins - few)


def m4_frame(path: Path) -> Any:
    import pandas

    wide = pandas.read_csv(path)
    long = wide.melt("id", var_name="ds", value_name="y").dropna()
    long["ds"] = long["ds"].str[1:].astype(int)
    return long.rename(columns={"id": "unique_id"}).sort_values(["unique_id", "ds"])


def forecast(rounds: int, steps: int) -> dict[str, list[tuple[float, float]]]:
    with tempfile.TemporaryDirectory() as scratch:
        path = m4_file(scratch)
        works = {"unspool": lambda: our_forecasts(path, Path(scratch), steps)}
        if installed("neuralforecast"):
            frame = m4_frame(path)
            works["NeuralForecast"] = lambda: neural_forecast(frame, steps)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
        for _ in range(rounds):
            for name, work in works.items():
                found[name].append(work())
    return found


def main() -> None:
    made = parser(__doc__, rounds=3)
    made.add_argument("--only", choices=("activity", "forecast"))
    made.add_argument("--steps", type=int, default=60, help="of training, in forecast")
    options = made.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: no development data at {DATA}")
    machine, rows = set_up(options), []
    warnings.simplefilter("ignore")  # of other libraries
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    if options.only != "forecast":
        times = {n: statistics.median(own) for n, own in activity(options.rounds).items()}
        print("\nactivity: seconds an epoch, and how many times as fast unspool is")
        ours = min(own for name, own in times.items() if name.startswith("unspool"))
        for name, own in times.items():
            plain = times["unspool, float32"]
            print(f"{name:18} {own:7.2f} s   best {own / ours:5.2f}   float32 {own / plain:5.2f}")
        rows.append({"activity": times})
    if options.only != "activity":
        both = forecast(options.rounds, options.steps)
        rates = {n: [statistics.median(each) for each in zip(*own)] for n, own in both.items()}
        print("\nforecast: windows a second in training and in the backtest")
        for name, (trained, tested) in rates.items():
            first, second = (a / b for a, b in zip(rates["unspool"], (trained, tested)))
            print(f"{name:18} {trained:9,.0f} ({first:.2f})   {tested:9,.0f} ({second:.2f})")
        rows.append({"forecast": rates})
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
