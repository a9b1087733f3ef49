"""Sentences from any decoder: greedy, sampled, or by beam search; many at once."""

from unspool.search.beam import beam, length_penalty
from unspool.search.rules import Hypothesis, SearchRules, StepDecoder, repeats
from unspool.search.stream import Sampling, stream
from unspool.search.walk import greedy, sample

__all__ = [
    "Hypothesis",
    "Sampling",
    "SearchRules",
    "StepDecoder",
    "beam",
    "greedy",
    "length_penalty",
    "repeats",
    "sample",
    "stream",
]
