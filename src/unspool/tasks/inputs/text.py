"""Texts as tokens, or as n-grams for a linear model."""

from __future__ import annotations

from typing import Any

from unspool.config import Config, declare
from unspool.data.fields.bags import NgramField
from unspool.data.fields.field import Field
from unspool.data.fields.text import TextField
from unspool.data.fields.vocabulary import made_of_words
from unspool.data.plan import Plan
from unspool.tasks.inputs.kind import InputKind, Settings
from unspool.tasks.size import longest_document

DIRECT_FIT = ("linear", "constant")  # networks that are fitted without gradient steps

# Of texts that are not made of words, chosen on folds of the splice data and of names: characters
# are few and frequent, so their vectors start large and all learns faster.
CHARACTERS: dict[str, Any] = {
    "model.embedding": 32,
    "model.embedding_std": 1.0,
    "model.dropout": 0.3,
    "model.word_dropout": 0.1,
    "train.lr": 3e-3,
    "train.schedule": "linear",
    "train.least_steps": 3000,
}


class TextKind(InputKind):
    """Every task plans its texts itself."""

    name = "text"
    settings = declare(
        data="text max_length",
        tokenizer="kind lowercase split vocab min_count normalize",
        model="embedding_std word_dropout",
        embedding="from extend frozen contextual tuned",
    )

    def field(self, config: Config) -> Field:
        if config.model.network in DIRECT_FIT:
            return NgramField(
                "text",
                config.tokenizer,
                longest=None if config.model.network == "linear" else 0,
                max_length=longest_document(config),
            )
        return TextField(
            "text",
            config.tokenizer,
            max_length=longest_document(config),
            spelled=config.embedding.contextual is not None,
        )

    def recommended_settings(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        """Return defaults of texts that are not made of words."""
        kind = settings.get("tokenizer.kind", settings.get("kind", "auto"))
        if kind == "auto" and plan is not None and "text" in plan.columns:
            texts = [value for value in plan.columns["text"].sample if isinstance(value, str)]
            kind = "word" if made_of_words(texts) else "char"
        network = settings.get("model.network", settings.get("network", "recurrent"))
        return CHARACTERS if kind == "char" and network in ("recurrent", "cnn") else {}
