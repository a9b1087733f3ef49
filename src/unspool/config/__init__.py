"""Every setting of a run (`schema.py` has all sections), and how given values become a config
(`resolve.py`)."""

from unspool.config.data import DataConfig, TokenizerConfig
from unspool.config.model import EmbeddingConfig, ModelConfig
from unspool.config.schema import SECTIONS, Config, sections, settings
from unspool.config.section import MOST, Section, declare, setting
from unspool.config.train import TrainConfig

__all__ = [
    "MOST",
    "SECTIONS",
    "Config",
    "DataConfig",
    "EmbeddingConfig",
    "ModelConfig",
    "Section",
    "TokenizerConfig",
    "TrainConfig",
    "declare",
    "sections",
    "setting",
    "settings",
]
