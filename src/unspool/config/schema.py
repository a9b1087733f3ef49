"""Every setting of a run, by section.

A setting is addressed as `section.name` (`train.epochs`), or by its bare name where only one
section has it (`epochs`). `resolve` makes a `Config` of given values.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from unspool.config.data import DataConfig, TokenizerConfig
from unspool.config.model import EmbeddingConfig, ModelConfig
from unspool.config.section import Section, setting
from unspool.config.train import TrainConfig


class Config(Section):
    """All settings of one run."""

    task: str = setting(..., "what the model learns to do")
    model_name: str = setting("bilstm", "the model as named on the command line")
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = ModelConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    train: TrainConfig = TrainConfig()
    members: tuple[Config, ...] = setting(
        (), "the models of an ensemble; the automatic choice makes one"
    )


def sections(kind: type[Section]) -> dict[str, type[Section]]:
    """The sections of a config of some kind."""
    annotations = {name: field.annotation for name, field in kind.model_fields.items()}
    return {n: c for n, c in annotations.items() if isinstance(c, type) and issubclass(c, Section)}


SECTIONS = sections(Config)


def settings(kind: type[Section] = Config) -> Iterator[tuple[str, FieldInfo]]:
    """Every setting as (`section.name`, field), in the order of this file."""
    for section, model in sections(kind).items():
        for name, field in model.model_fields.items():
            yield f"{section}.{field.alias or name}", field
