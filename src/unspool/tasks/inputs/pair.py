"""Two texts as one sequence of tokens, or as the n-grams of each for a linear model."""

from __future__ import annotations

from typing import Any

from unspool.config import Config, declare
from unspool.data.fields.bags import NgramField
from unspool.data.fields.field import Field
from unspool.data.fields.pair import PairField, PairForm
from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option, Setting
from unspool.tasks.encoder import pair_reading
from unspool.tasks.inputs.kind import Settings
from unspool.tasks.inputs.text import DIRECT_FIT, TextKind
from unspool.tasks.reading_inputs import PairView
from unspool.tasks.size import longest_document


class PairKind(TextKind):
    """Every task plans its texts itself, with `tasks/pair_plan.py`."""

    name = "pair"
    rows = "pairs"
    input_view = PairView
    settings = TextKind.settings | declare(model="pair")

    def field(self, config: Config) -> Field:
        if config.model.network in DIRECT_FIT:
            return NgramField(
                self.name,
                config.tokenizer,
                form=PairForm(),
                longest=None if config.model.network == "linear" else 0,
                max_length=longest_document(config),
            )
        return PairField(self.name, config.tokenizer, max_length=longest_document(config))

    def recommended_settings(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        if plan is not None and "pair" in plan.columns:
            column = plan.columns["pair"]
            texts = [text for value in column.sample if isinstance(value, list) for text in value]
            plan = Plan(plan.task, plan.table, {"text": column._replace(sample=texts)}, 0, "")
        return super().recommended_settings(settings, plan)

    def check(self, config: Config) -> None:
        super().check(config)
        if config.embedding.contextual is not None:
            raise ConfigError(
                "the contextual vectors of an elmo run are those of one text, and two are read",
                remedy=("leave out ", Option("start"), ", or read one: ", Option(text_pair="none")),
            )
        if config.model.pooling == "cls" and pair_reading(config.model) != "sequence":
            raise ConfigError(
                "model.pooling=cls reads a vector before both texts, and each is read by itself",
                got=f"model.pair={config.model.pair}",
                remedy=("use ", Setting(pair="sequence"), ", or another pooling"),
            )
