"""Every setting of a run (`schema.py`), and how given values become a config (`resolve.py`)."""

from unspool.config.schema import (
    SECTIONS,
    Config,
    DataConfig,
    EmbeddingConfig,
    ModelConfig,
    Section,
    TokenizerConfig,
    TrainConfig,
    sections,
    setting,
    settings,
)

__all__ = [
    "SECTIONS",
    "Config",
    "DataConfig",
    "EmbeddingConfig",
    "ModelConfig",
    "Section",
    "TokenizerConfig",
    "TrainConfig",
    "sections",
    "setting",
    "settings",
]
