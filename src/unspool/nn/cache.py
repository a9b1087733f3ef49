"""Keys and values of the steps read so far, for decoding step by step.

In: the keys and values (B, A, T, d) of new steps. Out: a new cache; the old one stays as it was, so
that a search may go on from it in several ways.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class _Store:
    """Storage (B, A, capacity, d), of which the first `filled` steps have been written."""

    def __init__(self, data: Tensor, filled: int) -> None:
        self.data = data
        self.filled = filled


class GrowingCache:
    """A sequence (B, A, S, d) that steps are appended to, which gives a new one.

    Without gradients, all that grew from one beginning share a storage that doubles when it is
    full, so S appended steps are S copied steps and not S². A storage is only ever written beyond
    what anyone has filled; a second append to the same steps copies.
    """

    def __init__(self, start: Tensor) -> None:
        self._store = _Store(start, start.shape[2])
        self.steps = start.shape[2]

    @property
    def value(self) -> Tensor:
        return self._store.data[:, :, : self.steps]  # (B, A, S, d)

    def append(self, new: Tensor) -> GrowingCache:
        """With the steps (B, A, T, d) at its end."""
        if torch.is_grad_enabled():
            # The graph may need the old values as they are: nothing is written in place.
            return GrowingCache(torch.cat([self.value, new], 2))
        steps = self.steps + new.shape[2]
        store = self._store
        same_mode = store.data.is_inference() == torch.is_inference_mode_enabled()
        if store.filled != self.steps or store.data.shape[2] < steps or not same_mode:
            batch, heads, _, size = new.shape
            data = new.new_empty(batch, heads, max(2 * self.steps, steps, 16), size)
            data[:, :, : self.steps] = self.value
            store = _Store(data, self.steps)
        store.data[:, :, self.steps : steps] = new
        store.filled = steps
        return self._view(store, steps)

    def select(self, rows: Tensor) -> GrowingCache:
        """Some rows of the batch, with the room to grow that there was."""
        return self._view(_Store(self._store.data.index_select(0, rows), self.steps), self.steps)

    @staticmethod
    def _view(store: _Store, steps: int) -> GrowingCache:
        grown = GrowingCache(store.data)
        grown._store, grown.steps = store, steps
        return grown


class KeyValueCache(NamedTuple):
    """Every key and value that has been read."""

    keys: GrowingCache
    values: GrowingCache

    @property
    def steps(self) -> int:
        return self.keys.steps

    def select(self, rows: Tensor) -> KeyValueCache:
        return KeyValueCache(self.keys.select(rows), self.values.select(rows))


class WindowCache(NamedTuple):
    """The keys and values (B, A, ≤ window, d) of the latest of `steps` steps."""

    keys: Tensor
    values: Tensor
    steps: int

    def select(self, rows: Tensor) -> WindowCache:
        return WindowCache(self.keys[rows], self.values[rows], self.steps)


class LinearCache(NamedTuple):
    """Σ_j φ(k_j) [v_j, 1]ᵀ (B, A, d, d + 1) over the `steps` read: it does not grow."""

    sums: Tensor
    steps: int

    def select(self, rows: Tensor) -> LinearCache:
        return LinearCache(self.sums[rows], self.steps)


Cache = KeyValueCache | WindowCache | LinearCache
