"""Training on several processes that share the rows of each batch.

Each process computes the gradient of its rows. After the backward pass the processes sum two
vectors over torch.distributed: figures (losses, counts, the clock, signals) and the gradient. So
all of them make the same update, end at the same step, and together do what one process does with
the same batch.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from unspool.data.batching import Share
from unspool.errors import Option, TrainingError
from unspool.training.checkpoint import flatten_carry, unflatten_carry
from unspool.training.signals import SIGNALS

TIMEOUT = float(os.environ.get("UNSPOOL_PROCESS_TIMEOUT", 60))  # seconds without an answer
NOTICED = -1  # in place of the number of exchanges of a process that has noticed a failure
NOTICE = 3.0  # seconds in which all others notice it
LONG = timedelta(days=7)  # what one process computes while the others wait


@dataclass
class Processes:
    """The processes of a training, seen from one of them; alone, nothing is exchanged.

    exchanges  how often each process has exchanged values, by rank, where all can see it
    started    those that this one has started, by rank
    """

    rank: int = 0
    size: int = 1
    exchanges: Any = field(default_factory=lambda: [0])
    started: Mapping[int, BaseProcess] = field(default_factory=dict)
    group: Any = None  # of what all do at the same time

    def join(self, store: dist.Store) -> None:
        """Meet the other processes."""
        dist.init_process_group(
            "gloo",
            store=store,
            rank=self.rank,
            world_size=self.size,
            timeout=LONG,
        )
        self.group = dist.new_group(backend="gloo", timeout=timedelta(seconds=TIMEOUT))

    def leave(self) -> None:
        """Part from the others; those that this process has started end by themselves, or are
        ended."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
        for process in self.started.values():
            process.join(TIMEOUT)
            process.kill()
            process.join()

    @contextmanager
    def all_threads(self) -> Iterator[None]:
        """Use the threads of the processes that this one has started, while they wait."""
        threads = torch.get_num_threads()
        if self.started:
            torch.set_num_threads(threads * (1 + len(self.started)))
        try:
            yield
        finally:
            if self.started:
                torch.set_num_threads(threads)

    def sum(self, figures: Sequence[float]) -> list[float]:
        """The sums of some figures over all processes."""
        if self.size == 1:
            return list(figures)
        total = torch.tensor(figures, dtype=torch.float64)
        with self._exchange():
            dist.all_reduce(total, group=self.group)
        return total.tolist()

    def sum_gradients(self, model: nn.Module, used: Sequence[float]) -> None:
        """Sum the gradients of the parameters that any process has used (`used` > 0)."""
        learning = [p for p in model.parameters() if p.requires_grad]
        parameters = [p for p, count in zip(learning, used) if count]
        if self.size == 1 or not parameters:
            return
        for p in parameters:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        flat = torch.cat([p.grad.reshape(-1) for p in parameters])  # type: ignore[union-attr]
        with self._exchange():
            dist.all_reduce(flat, group=self.group)
        for p, gradient in zip(parameters, flat.split([p.numel() for p in parameters])):
            p.grad = gradient.view_as(p)

    def share_weights(self, model: nn.Module) -> None:
        """Give all processes the weights of the first."""
        with self._exchange():
            for tensor in model.state_dict().values():
                dist.broadcast(tensor, 0)

    def from_first(self, figures: Sequence[float]) -> list[float]:
        """The figures that the first process has computed while the others waited."""
        count = torch.tensor([len(figures)])
        with self._exchange():
            dist.broadcast(count, 0)
            values = torch.zeros(int(count), dtype=torch.float64)
            if self.rank == 0:
                values += torch.tensor(figures, dtype=torch.float64)
            dist.broadcast(values, 0)
        return values.tolist()

    def gather_carry(self, carry: list[Any], rows: int) -> Any:
        """The state of all rows, of those of all shares (nested tuples of tensors)."""
        flat = [flatten_carry(each) for each in carry]
        whole = [self._gathered(list(parts), rows) for parts in zip(*(f.tensors for f in flat))]
        return unflatten_carry(flat[0].shape, iter(whole))

    def _gathered(self, parts: list[Tensor], rows: int) -> Tensor:
        """(rows, ...) of the rows of each share, in the order of the batch."""
        of = self.size * len(parts)
        most = -(-rows // of)
        padded = torch.stack(
            [torch.cat([p, p.new_zeros(most - len(p), *p.shape[1:])]) for p in parts]
        )
        everything = [padded]
        if self.size > 1:
            everything = [torch.empty_like(padded) for _ in range(self.size)]
            with self._exchange():
                dist.all_gather(everything, padded, group=self.group)
        interleaved = torch.cat(everything).transpose(0, 1)  # (most, shares, ...)
        return interleaved.reshape(most * of, *padded.shape[2:])[:rows].contiguous()

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """Count an exchange; where it fails, name the process that is to blame."""
        self.exchanges[self.rank] += 1
        try:
            yield
        except RuntimeError as error:
            message = self.failure()
            for process in self.started.values():
                process.kill()
            raise TrainingError(
                message, remedy=("continue from the last checkpoint with ", Option(resume=True))
            ) from error

    def failure(self) -> str:
        """Return a line that names the process that ended or hangs."""
        for rank, process in self.started.items():
            process.join(1.0)
            if process.exitcode is not None:
                how = f"killed by signal {-process.exitcode}" if process.exitcode < 0 else "failed"
                return f"process {rank + 1} of {self.size} has ended ({how})"
        self.exchanges[self.rank] = NOTICED
        end = time.monotonic() + NOTICE
        while time.monotonic() < end and self._unaware():
            time.sleep(0.05)
        late = ", ".join(str(rank + 1) for rank in self._unaware()) or "?"
        return f"process {late} of {self.size} has ended, or has not answered for {TIMEOUT:g} s"

    def _unaware(self) -> list[int]:
        """The processes that have not noticed a failure, and so have caused it."""
        return [rank for rank in range(self.size) if self.exchanges[rank] != NOTICED]


def used_parameters(model: nn.Module) -> list[float]:
    """1 for each parameter that learns and has a gradient, 0 for one without."""
    return [float(p.grad is not None) for p in model.parameters() if p.requires_grad]


def scale_gradients(model: nn.Module, factor: float) -> None:
    for p in model.parameters():
        if p.grad is not None:
            p.grad *= factor


def signal_figures(number: int) -> list[float]:
    """A signal as figures that can be summed."""
    return [float(number != 0 and number == getattr(signal, name, -1)) for name in SIGNALS]


def signal_of(figures: Sequence[float]) -> int:
    """The first signal that any process has got, or 0."""
    names = [name for name, count in zip(SIGNALS, figures) if count]
    return int(getattr(signal, names[0])) if names else 0


def shared_carry(carry: Any, share: Share) -> Any:
    """The rows of a share of the state of all rows."""
    if share.of == 1:
        return carry
    flat = flatten_carry(carry)
    rows = [tensor[share.take(np.arange(len(tensor)))] for tensor in flat.tensors]
    return unflatten_carry(flat.shape, iter(rows))
