"""Every setting of word2vec: typed, with its help text, and those of the data and the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from unspool.config import MOST, DataConfig, Section, TokenizerConfig, setting
from unspool.config.resolve import layered
from unspool.errors import ConfigError, Option


class Word2vecConfig(Section):
    """Settings of word2vec."""

    mode: Literal["skipgram", "cbow"] = setting(
        "skipgram", "predict a word from each word around it, or from the mean of them"
    )
    size: int = setting(100, "elements of a vector", ge=1, le=100_000)
    window: int = setting(
        5, "words on each side that belong to a word; how many is sampled for each", ge=1, le=1000
    )
    negatives: int = setting(5, "noise words for each word", ge=1, le=1000)
    noise: float = setting(
        0.75, "noise words are sampled by their frequency to the power of this", ge=0, le=2
    )
    subsample: float = setting(
        1e-3, "words of a larger share of the text are often left out (0: never)", ge=0
    )
    phrases: int = setting(
        0, "passes that join pairs of words which go together, as new_york", ge=0, le=10
    )
    phrase_score: float = setting(
        10.0, "how much more often than by chance such a pair must occur, in the first pass", gt=0
    )
    epochs: int = setting(5, "passes over the corpus", ge=1, le=MOST)
    lr: float = setting(0.025, "learning rate at the beginning", gt=0)
    last_lr: float = setting(1e-4, "learning rate at the end, reached on a straight line", ge=0)
    threads: int = setting(0, "CPU threads (0: one per core)", ge=0, le=1024)
    seed: int = setting(1, "seed of the initial vectors and of all sampling", ge=0, lt=2**32)


class EmbedConfig(Section):
    """All settings of one run of word2vec."""

    method: str = setting("word2vec", "how the vectors are made")
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    word2vec: Word2vecConfig = Word2vecConfig()


DEFAULTS: dict[str, Any] = {
    "tokenizer.kind": "word",
    "tokenizer.lowercase": True,
    "tokenizer.min_count": 5,
    "tokenizer.vocab": 1_000_000,
}


def make_config(
    settings: Mapping[str, Any], from_file: Mapping[str, Any], config_file: str | None
) -> EmbedConfig:
    """The settings of a run: the method's defaults, those of a file, then the caller's."""
    config = layered(
        EmbedConfig,
        [
            ("word2vec", DEFAULTS),
            (config_file or "config file", from_file),
            (Option("settings"), settings),
        ],
        fixed={"method": "word2vec"},
    )
    if config.tokenizer.kind != "word":
        raise ConfigError(
            "word2vec learns vectors of words",
            where="tokenizer.kind",
            got=config.tokenizer.kind,
            remedy="leave it out",
        )
    if config.word2vec.last_lr > config.word2vec.lr:
        raise ConfigError(
            f"word2vec.last_lr must be at most word2vec.lr={config.word2vec.lr}",
            got=config.word2vec.last_lr,
            remedy="set a smaller last_lr",
        )
    return config
