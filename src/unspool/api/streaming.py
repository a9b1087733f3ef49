"""Result of `Run.stream`: one sequence that is read as it arrives."""

from __future__ import annotations

from typing import Any

from unspool.data.read.recording import Recording, step_of
from unspool.tasks import Answer
from unspool.tasks.streaming import Stream


class RunStream:
    """One sequence: what is pushed goes on from what was pushed before.

    state   all that is known of it: tensors of a fixed size, however long it was. It can be kept
            and set again: `stream.state = earlier` goes back, and a second stream of the same run
            with it goes on by itself. The weights are those at the time the stream was made.
    """

    def __init__(self, stream: Stream, date_format: str) -> None:
        self._stream, self._date_format = stream, date_format

    @property
    def steps(self) -> int:
        """Number of steps read so far."""
        return self._stream.steps

    @property
    def state(self) -> Any:
        return self._stream.state

    @state.setter
    def state(self, state: Any) -> None:
        self._stream.state = state

    def push(self, new: Any, times: Any = None) -> Answer:
        """Read the next step or steps.

        new     of a series a step (C,) or steps (T, C); of a text its next words or characters, as
                they stand in it; of sound a pair of samples (N,) and their rate
        times   of the steps of a series, for a model that reads them: numbers or dates

        The answer of a classifier or a regression is about all steps so far; that of a tagger has
        the new steps; that of a language model has the losses of the new tokens and what is
        expected next; that of a forecast is about the next steps; that of a transcriber has the
        tokens that have ended since.
        """
        return self._stream.push(new if times is None else self._timed(new, times))

    def finish(self) -> Answer | None:
        """The sequence has ended: read what was kept until more would come, such as the samples of
        the last frame. The answer as of `push`; None where nothing was kept."""
        return self._stream.finish()

    def restart(self) -> None:
        """Begin another sequence with the next push."""
        self._stream.restart()

    def __repr__(self) -> str:
        return f"<stream of {self.steps:,} steps>"

    def _timed(self, new: Any, times: Any) -> Recording:
        """Steps with their times, a vector and one time being one step."""
        import numpy as np

        cells = [str(time) for time in (list(times) if np.ndim(times) > 0 else [times])]
        values = np.asarray(new, dtype=np.float32)
        if values.ndim < 2:
            values = values.reshape(len(cells), -1)
        return step_of(values, cells, self._date_format, "push", column="times")
