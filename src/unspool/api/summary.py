"""The summary of a model that has not been trained, from its settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.api.settings import make_config
from unspool.data.corpus import Corpus
from unspool.data.paired import is_joint
from unspool.insight.summary import Summary, summary_of
from unspool.tasks import TASKS, build_model
from unspool.text.tokenizers import CharTokenizer
from unspool.text.vocab import SPECIALS, Vocab


def summarise_settings(
    task: str, model: str | None, *, settings: Mapping[str, Any], classes: int
) -> Summary:
    """Of the model that `settings` describe, with a full vocabulary."""
    config = make_config(task, model, settings=settings)
    size = config.tokenizer.vocab
    both = [
        CharTokenizer(Vocab.of(f"token{i}" for i in range(size - len(SPECIALS)))) for _ in range(2)
    ]
    corpus = Corpus(
        both[0],
        [f"class{i}" for i in range(classes)],
        parts={},
        spelling=CharTokenizer(Vocab.of(map(chr, range(33, 127)))),
        target_tokenizer=both[0] if is_joint(config.tokenizer) else both[1],
    )
    planned = TASKS[config.task].prepare(config, corpus)
    return summary_of(planned, build_model(planned))
