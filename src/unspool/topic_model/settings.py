"""Every setting of `unspool topics`: typed, with its help text, and those of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from unspool.config import MOST, DataConfig, Section, TokenizerConfig, setting
from unspool.config.resolve import layered
from unspool.errors import Option

AUTO = "auto"


def _split_commas(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


Count = Annotated[int, Field(ge=2, le=1000)]


class TopicSettings(Section):
    """Settings of fitting and showing topics."""

    method: Literal["nmf", "lda", "clusters"] = setting(
        "nmf",
        "non-negative matrix factorisation of TF-IDF, latent Dirichlet allocation of counts, or"
        " k-means of the vectors of a pretrained model",
    )
    count: int = setting(
        0, "number of topics (0: that of `counts` with the largest coherence)", ge=0, le=1000
    )
    counts: Annotated[tuple[Count, ...], BeforeValidator(_split_commas), Field(min_length=1)] = (
        setting((3, 5, 10, 20, 40), "numbers of topics that are tried where none is given")
    )
    stop_words: Literal["none", "english"] = setting(
        "none", "a list of words that are left out: none, or that of scikit-learn for English"
    )
    min_documents: int = setting(
        5, "leave out words of fewer documents (at most a hundredth of them)", ge=1, le=MOST
    )
    max_share: float = setting(
        0.5, "leave out words of more than this share of the documents", gt=0, le=1
    )
    vocab: int = setting(20_000, "largest number of words", ge=10, le=10_000_000)
    ranking: Literal["auto", "weights", "ctfidf"] = setting(
        "auto",
        "what ranks the words of a topic: the weights of nmf or lda, or class-based TF-IDF, which"
        " clusters always have; auto: weights where there are some",
    )
    words: int = setting(10, "words of a topic that are shown, and judged", ge=2, le=1000)
    documents: int = setting(3, "documents of a topic that are shown", ge=0, le=1000)
    window: int = setting(
        10, "words that occur together for the coherence if so many around hold both", ge=2, le=MOST
    )
    max_length: int = setting(
        256, "tokens of a document that a pretrained model reads", ge=8, le=2**20
    )
    map: Literal["tsne", "pca", "none"] = setting(
        "tsne", "how documents are placed on the map: t-SNE, or two principal components"
    )
    mapped: int = setting(1500, "documents on the map at most, chosen at random", ge=2, le=100_000)
    iterations: int = setting(
        0, "of the method at most (0: 300 of nmf and clusters, 10 of lda)", ge=0, le=1_000_000
    )
    seed: int = setting(1, "seed of all that is random", ge=0, lt=2**32)


class TopicsConfig(Section):
    """All settings of one `unspool topics`."""

    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    topics: TopicSettings = TopicSettings()


DEFAULTS: dict[str, Any] = {"tokenizer.kind": "word", "tokenizer.lowercase": True}


def make_config(
    settings: Mapping[str, Any], from_file: Mapping[str, Any], config_file: str | None
) -> TopicsConfig:
    """The defaults, those of a file, then the caller's."""
    layers = [
        ("topics", DEFAULTS),
        (config_file or "config file", from_file),
        (Option("settings"), settings),
    ]
    return layered(TopicsConfig, layers, fixed={})
