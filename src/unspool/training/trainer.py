"""The training loop: batches in, the best weights and a log in the run folder out.

Everything the loop does at step n is a function of the seed, of n and of the checkpoint it started
from, so a run that was killed and resumed gives the same weights and the same log as one that was
not (same machine, same number of threads).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from unspool.config import TrainConfig
from unspool.data.batching import Share, shares_of
from unspool.data.part import Part, moved
from unspool.errors import Option, RunError, TrainingError
from unspool.tasks import Task
from unspool.tasks.abilities import LocatesBatches
from unspool.tasks.task import device_of
from unspool.training.checkpoint import Counters, restore_checkpoint, save_checkpoint
from unspool.training.folder import RunFolder
from unspool.training.machine import autocast
from unspool.training.optim import (
    build_optimizer,
    clip_gradients,
    learning_rate,
    set_learning_rate,
    thaw,
)
from unspool.training.output_folder import FolderHandle
from unspool.training.processes import (
    Processes,
    scale_gradients,
    shared_carry,
    signal_figures,
    signal_of,
    used_parameters,
)
from unspool.training.progress import Log, Watcher, cut_log
from unspool.training.signals import Interrupted, StopRequest
from unspool.training.tensors import TensorFile, save_tensors

CLOCK_FIELDS = ("seconds", "tokens_per_second")  # the only fields of the log that may differ


USUAL_EPOCHS, MOST_EPOCHS = 10, 50
SHARE_SEED = 1 << 40  # between the seeds of two shares of a batch
MEASURED_ROWS = 64  # that are validated first, to know how long all would take
MEASURED_BY = 0.1  # share of `max_seconds` after which one validation has shown how long it takes


def wall_seconds() -> float:
    return time.monotonic()


class Pace(NamedTuple):
    """How the seconds of a training count, and when it pauses.

    clock  whose difference they are
    pause  seconds after which the training is saved and raises `Paused`; 0: never
    """

    clock: Callable[[], float] = wall_seconds
    pause: float = 0.0


WALL_CLOCK = Pace()


class Paused(Exception):
    """A training was saved, to be resumed if it is worth it.

    metrics  of the last validation
    rank     of the best one
    """

    def __init__(self, metrics: dict[str, float], rank: list[float], seconds: float) -> None:
        super().__init__(f"paused after {seconds:.0f} s")
        self.metrics, self.rank, self.seconds = metrics, rank, seconds


def evenly(part: Part, size: int) -> Part:
    """At most so many rows of a part, evenly spaced."""
    if size >= len(part):
        return part
    return part.select(np.linspace(0, len(part) - 1, size).astype(np.int64))


def usual_epochs(steps: int, least: int) -> int:
    """Default number of epochs, given their steps: a network learns little from a few updates."""
    return min(MOST_EPOCHS, max(USUAL_EPOCHS, -(-least // max(1, steps))))


class BatchResult(NamedTuple):
    """The result of one batch, whose gradient is in the parameters."""

    loss: float  # mean over the targets
    targets: int
    tokens: int
    carries: list[Any]  # of each share that this process computes


class Trainer:
    """One training run, from wherever its checkpoints stand to its end."""

    def __init__(
        self,
        task: Task,
        model: nn.Module,
        parts: dict[str, Any],
        folder: RunFolder,
        watcher: Watcher,
        rescue: Callable[[], RunFolder] | None = None,
        processes: Processes | None = None,
        pace: Pace = WALL_CLOCK,
    ) -> None:
        """`rescue` makes another run folder, for what `folder` does not take at the end. Of several
        processes the first writes the folder."""
        self.processes = processes or Processes()
        self.several, self.first = self.processes.size > 1, self.processes.rank == 0
        self.pace, self.metrics = pace, dict[str, float]()
        self.task, self.model, self.folder, self.watcher = task, model, folder, watcher
        self.rescue = rescue
        self.train: TrainConfig = task.config.train
        self.device = device_of(model)
        self.train_part, self.valid_part = parts["train"], parts.get("valid")
        self.chooses = self.train.keep == "best"  # the weights, by the validation part
        if self.chooses and self.valid_part is not None and task.least_rows:
            self.chooses = len(self.valid_part) >= task.least_rows
        self.batches: Any = task.batches(self.train_part, training=True)
        self.shares = shares_of(
            self.processes.rank, self.processes.size, passes=self.train.accumulate
        )
        self.optimizer = build_optimizer(model, self.train)
        self.counters = Counters()
        self.validation_seconds = 0.0  # of the longest validation
        self.notes: list[str] = []  # for the report
        self.carries: list[Any] = [None] * len(self.shares)  # one for each share of a batch
        self.best: TensorFile | None = None  # weights, kept in memory for a rescue,
        self.unsaved = False  # or because the disk did not take them
        steps = self.batches.steps(0)
        self.epochs = self.train.epochs or usual_epochs(steps, self.train.least_steps)
        planned = steps * self.epochs
        self.total = min(planned, self.train.max_steps or planned)
        writes_events = self.train.tensorboard and self.first
        self.board = _tensorboard(folder) if writes_events else None

    def resume(self) -> None:
        """Go back to the newest whole checkpoint, and cut the log to what it had then."""
        checkpoint = restore_checkpoint(
            self.folder.checkpoints, self.model, self.optimizer, self.watcher.note
        )
        if checkpoint is not None:
            self.counters, carry = checkpoint[0], moved(checkpoint[1], self.device)
            self.carries = [shared_carry(carry, share) for share in self.shares]
        if self.first:
            cut_log(self.folder.metrics, self.counters.log_bytes, self.watcher.note)

    def run(self, stop: StopRequest) -> Counters:
        """Train to the end, or save and raise: Interrupted where a signal asks to stop, Paused when
        the time of the pace is over."""
        counters, clock = self.counters, self.pace.clock
        saved_at = time.monotonic()
        if self.first:
            self.handle = FolderHandle(self.folder.path)
            self.log = Log(self.folder.metrics, self.watcher.note)
        if self.several:
            self.processes.share_weights(self.model)
        self.watcher.start(self.total, counters, self.train.max_seconds)
        try:
            while not counters.finished:
                started = clock()
                epoch_over = self._step()
                self._count_seconds(clock() - started)
                if (epoch_over and self._round_over()) or self._validation_due():
                    started = clock()
                    self._validate()
                    self._count_seconds(clock() - started)
                counters.finished = self._reason_to_end()
                age = time.monotonic() - saved_at
                # A signal that comes from here on is for the next step.
                signal, due = self._agreed(stop.signal, age >= self.train.checkpoint_seconds)
                paused = self._pause_due() and not counters.finished
                ends = bool(counters.finished or signal or paused)
                if signal and not counters.best_step:
                    self._save_weights(validated=False)
                if ends or due:
                    self._checkpoint(last=ends)
                    saved_at = time.monotonic()
                if signal and not counters.finished:
                    raise Interrupted(signal, self.folder.path, counters.step)
                if paused:
                    raise Paused(self.metrics, counters.best or [], counters.seconds)
        finally:
            self.watcher.close()
            if self.first:
                self.log.close()
                self.handle.close()
            if self.board is not None:
                self.board.close()
        return counters

    def _step(self) -> bool:
        """One update from one batch; True when the epoch is over."""
        counters, train = self.counters, self.train
        started = time.monotonic()
        rate = learning_rate(train, self._scheduled_step(), self.total)
        set_learning_rate(self.optimizer, rate)

        if not self.model.training:
            self.model.train()
        thaw(self.model, train, counters.epoch)
        result = self._gradient()
        norm = float(clip_gradients(self.model, train.clip))
        loss = result.loss
        if math.isfinite(loss) and math.isfinite(norm):
            self.optimizer.step()
            self.carries = result.carries
            counters.bad = 0
            window = counters.window
            window[0] += loss * result.targets
            window[1] += result.targets
            window[2] = max(window[2], norm)
        else:
            self._skip(loss)
        self.optimizer.zero_grad(set_to_none=True)

        counters.step += 1
        counters.index += 1
        counters.tokens += result.tokens
        speed = result.tokens / max(time.monotonic() - started, 1e-9)
        if counters.step % train.log_steps == 0:
            self._log_window(rate, speed)
        self.watcher.step(counters, loss, norm, speed)
        if counters.index < self.batches.steps(counters.epoch):
            return False
        counters.epoch, counters.index = counters.epoch + 1, 0
        self.carries = [None] * len(self.shares)
        return True

    def _gradient(self) -> BatchResult:
        """Compute the gradient of a batch: of its shares here, and of those of other processes."""
        epoch, index, train = self.counters.epoch, self.counters.index, self.train
        rows, whole = self.batches.rows(epoch, index), self.shares[0].of == 1
        total = targets = tokens = 0.0
        carries = []
        for share, carry in zip(self.shares, self.carries):
            batch = moved(self.batches.batch(epoch, index, share), self.device)
            self._seed(share)
            with autocast(train.precision, self.device.type):
                step = self.task.loss(self.model, batch, carry)
            weight = 1 if whole else step.targets * share.counts(rows)
            if step.loss.requires_grad:  # a row may have nothing to predict, as a single note
                (step.loss * weight).backward()
            if whole:
                loss = float(step.loss.detach())
                return BatchResult(loss, step.targets, step.tokens, [step.carry])
            total += float(step.loss.detach()) * weight
            targets, tokens = targets + weight, tokens + step.tokens * bool(weight)
            carries.append(step.carry)
        figures = [total, targets, tokens, *used_parameters(self.model)]
        total, targets, tokens, *used = self.processes.sum(figures)
        self.processes.sum_gradients(self.model, used)
        scale_gradients(self.model, 1 / max(targets, 1))
        return BatchResult(total / max(targets, 1), int(targets), int(tokens), carries)

    def _seed(self, share: Share) -> None:
        """Dropout is a function of the step, and of the share of its batch."""
        seed = self.train.seed * 1_000_003 + self.counters.step + share.number * SHARE_SEED
        torch.default_generator.manual_seed(seed)
        if self.device.type != "cpu":  # torch.manual_seed would also ask for every kind of GPU
            torch.manual_seed(seed)

    def _count_seconds(self, seconds: float) -> None:
        """Add to the time of training, which is that of the first process."""
        self.counters.seconds += seconds
        if self.several and self.train.max_seconds:
            (self.counters.seconds,) = self.processes.from_first([self.counters.seconds])

    def _agreed(self, signal: int, due: bool) -> tuple[int, bool]:
        """The signal that any process has got, and whether the first wants a checkpoint."""
        if not self.several:
            return signal, due
        figures = [float(due and self.first), *signal_figures(signal)]
        wanted, *signals = self.processes.sum(figures)
        return signal_of(signals), bool(wanted)

    def _scheduled_step(self) -> int:
        """The step by which the learning rate is chosen: where `max_seconds` will end the run, its
        share of the time, so that the rate comes down all the same."""
        counters, most = self.counters, self.train.max_seconds
        if not most:
            return counters.step
        share = (counters.seconds + self.validation_seconds) / most
        return max(counters.step, int(min(1.0, share) * self.total))

    def _skip(self, loss: float) -> None:
        """Pass over a batch whose loss or gradient is not finite; several in a row are too many."""
        counters = self.counters
        counters.bad += 1
        counters.skipped += 1
        self.carries = [None] * len(self.shares)
        batch = self.batches.batch(counters.epoch, counters.index)
        what = "loss" if not math.isfinite(loss) else "gradient"
        position = f"epoch {counters.epoch + 1}, batch {counters.index + 1}"
        if isinstance(self.task, LocatesBatches):
            where = self.task.where(self.train_part, batch)
        else:
            where = self.batches.where(batch)
        self.watcher.note(f"{what} is not finite at {position} ({where}): skipped")
        if counters.bad >= self.train.max_bad_steps:
            raise TrainingError(
                f"the {what} was not finite {counters.bad} times in a row, last at {position}",
                where=self.folder.path,
                remedy=f"lower train.lr (now {self.train.lr:g}), set train.clip=0.5,"
                " or use train.precision=fp32",
            )

    def _validate(self) -> None:
        """Score the validation part; keep the weights if they are the best so far."""
        counters = self.counters
        metrics: dict[str, float] = {}
        better = True
        if self.valid_part is not None:
            self.model.eval()
            took, rank = 0.0, list[float]()
            if self.first:
                with self.processes.all_threads() if self.several else nullcontext():
                    metrics, took = self._first_scores() if self._unmeasured else self._scores()
                self.metrics, rank = metrics, list(self.task.metric.rank(metrics))
            if self.several:
                took, *rank = self.processes.from_first([took, *rank])
            self.validation_seconds = max(self.validation_seconds, took)
            better = not self.chooses or counters.best is None or rank > counters.best
            counters.best = rank if better else counters.best
            counters.stale = 0 if better else counters.stale + 1
        if better:
            counters.best_step = counters.step
            self._save_weights()
        record = {"step": counters.step, "epoch": counters.epoch}
        self._log({**record, **{f"valid_{k}": v for k, v in metrics.items()}, "best": better})
        self.watcher.validated(counters, metrics, better)

    def _scores(self) -> tuple[dict[str, float], float]:
        """Scores of the validation part, and the seconds that they took."""
        started = self.pace.clock()
        return self.task.validate(self.model, self.valid_part), self.pace.clock() - started

    def _first_scores(self) -> tuple[dict[str, float], float]:
        """Scores of some rows, and of all if they take at most half of the time left. Otherwise
        the validation part becomes as many rows as do."""
        whole, least = self.valid_part, max(MEASURED_ROWS, self.task.least_rows)
        assert isinstance(whole, Part)
        self.valid_part = evenly(whole, least)
        metrics, took = self._scores()
        left = self.train.max_seconds - self.counters.seconds - took
        rows = max(least, int(least * left / 2 / max(took, 1e-9)))
        if rows > least:
            self.valid_part = evenly(whole, rows)
            metrics, took = self._scores()
        if rows < len(whole):
            self.notes.append(
                f"validation takes {rows:,} of {len(whole):,} rows, as many as the time allows"
                f" ({self.train.max_seconds:g} s in all)"
            )
            self.watcher.note(self.notes[-1])
        return metrics, took

    @property
    def _unmeasured(self) -> bool:
        """Return whether there is a limit of time, and many rows whose validation may exceed it."""
        limited = self.train.max_seconds > 0 and not self.validation_seconds
        part, least = self.valid_part, max(MEASURED_ROWS, self.task.least_rows)
        return limited and isinstance(part, Part) and len(part) > least

    def _round_over(self) -> bool:
        """Return whether to validate after this epoch: about ten times in all, unless the number of
        epochs was set."""
        epoch, every = self.counters.epoch, 1 if self.train.epochs else self.epochs // USUAL_EPOCHS
        return epoch % every == 0 or epoch in (self.epochs, self.train.stop_epoch)

    def _validation_due(self) -> bool:
        """Return whether the settings ask for a validation in the middle of an epoch."""
        step, every, most = self.counters.step, self.train.eval_steps, self.train.max_steps
        due = step == most or (every > 0 and step % every == 0)
        return due or self._time_is_up() or self._unknown_validation() or self._pause_due()

    def _pause_due(self) -> bool:
        return 0 < self.pace.pause <= self.counters.seconds

    def _unknown_validation(self) -> bool:
        """Return whether a share of the time is over without a validation: it is not known yet how
        much one takes, and the last one has to fit."""
        first = MEASURED_BY * self.train.max_seconds
        unknown = self.valid_part is not None and not self.validation_seconds
        return unknown and 0 < first <= self.counters.seconds

    def _time_is_up(self) -> bool:
        """Return whether the time is over, but for a validation as long as the longest so far."""
        return 0 < self.train.max_seconds <= self.counters.seconds + self.validation_seconds

    def _reason_to_end(self) -> str:
        counters, train = self.counters, self.train
        if counters.epoch >= self.epochs:
            return f"all {self.epochs} epochs done"
        if train.stop_epoch and counters.epoch >= train.stop_epoch:
            return f"{train.stop_epoch} of {self.epochs} epochs done, as was asked"
        if self._time_is_up():
            return f"{train.max_seconds:g} s are over"
        if train.max_steps and counters.step >= train.max_steps:
            return f"{train.max_steps} steps done"
        if train.patience and counters.stale >= train.patience:
            return f"no gain in {counters.stale} validations"
        return ""

    def _save_weights(self, *, validated: bool = True) -> None:
        """Make the present weights the run's; where the disk refuses, keep them to try again."""
        if not self.first:
            return
        state = self.model.state_dict()
        meta = {"step": self.counters.step, "rank": self.counters.best}
        best = TensorFile(state, meta if validated else {**meta, "validated": False})
        try:
            self.handle.check()
            save_tensors(self.folder.weights, *best)
            self.unsaved = False
        except OSError as error:
            self.watcher.note(f"cannot save the weights ({error.strerror}); will try again")
            self.unsaved = True
        kept = self.unsaved or self.rescue is not None
        copy = {name: tensor.clone() for name, tensor in state.items()} if kept else {}
        self.best = best._replace(tensors=copy) if kept else None

    def _checkpoint(self, *, last: bool) -> None:
        """Save everything; a full disk costs a checkpoint, not the run."""
        self.carry: Any = self.carries[0]
        if self.carry is not None and self.shares[0].of > 1:
            rows = self.batches.rows(self.counters.epoch, self.counters.index)
            self.carry = self.processes.gather_carry(self.carries, rows)
        if not self.first:
            return
        try:
            self._save_all()
        except OSError as error:
            if last:
                self._move(error)
            else:
                self.watcher.note(f"cannot write a checkpoint ({error.strerror}); training goes on")

    def _save_all(self) -> None:
        self.handle.check()
        if self.unsaved and self.best is not None:
            save_tensors(self.folder.weights, *self.best)
            self.unsaved = False
        self.counters.log_bytes = self.log.sync()
        save_checkpoint(
            self.folder.checkpoints, self.model, self.optimizer, self.carry, self.counters
        )

    def _move(self, error: OSError) -> None:
        """The run folder does not take the end of the run: save it in another one, if asked to."""
        what = f"cannot save the trained model ({error.strerror})"
        if self.rescue is None:
            remedy = ("free some space, then use ", Option(resume=True), " or ", Option("rescue"))
            raise TrainingError(what, where=self.folder.path, remedy=remedy) from None
        if self.best is None:  # since a run was resumed
            try:
                self.best = self.folder.read_weights()
            except (RunError, OSError):
                self._save_weights(validated=False)
                self.watcher.note("the best weights are lost; those of this moment are saved")
        lost, log, self.unsaved = self.folder, self.log, True
        self.folder = self.rescue()
        self.handle.close()
        self.handle = FolderHandle(self.folder.path)
        self.log = Log(self.folder.metrics, self.watcher.note)
        self.log.waiting = log.content()
        log.close()
        try:
            self._save_all()
        except OSError as again:
            raise TrainingError(
                f"{what}, nor in {self.folder.path} ({again.strerror})",
                where=lost.path,
                remedy=("free some space, then use ", Option(resume=True)),
            ) from None
        self.watcher.note(f"{lost.path}: {what}; it is in {self.folder.path}")

    def _log_window(self, rate: float, speed: float) -> None:
        counters = self.counters
        total, count, norm = counters.window
        counters.window = [0.0, 0.0, 0.0]
        self._log(
            {
                "step": counters.step,
                "epoch": counters.epoch + (counters.index / self.batches.steps(counters.epoch)),
                "loss": total / count if count else None,
                "grad_norm": norm,
                "lr": rate,
                "seconds": round(counters.seconds, 3),
                "tokens_per_second": round(speed),
            }
        )

    def _log(self, record: dict[str, Any]) -> None:
        if not self.first:
            return
        self.log.write(record)
        if self.board is not None:
            for key, value in record.items():
                if isinstance(value, float):
                    self.board.add_scalar(key, value, record["step"])


def _tensorboard(folder: RunFolder) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise TrainingError(
            "train.tensorboard needs the tensorboard package",
            remedy="pip install 'unspool[tensorboard]'",
        ) from None
    return SummaryWriter(str(folder.path / "tensorboard"))
