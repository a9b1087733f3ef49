"""The kinds of input by name. A new one is a file in this folder and a line here.

In: the settings, or a table. Out: the kind of what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.config import Config, DataConfig
from unspool.data.fields.field import Field
from unspool.data.fields.joined import JoinedField
from unspool.data.plan import Plan
from unspool.tasks.inputs.audio import AudioKind
from unspool.tasks.inputs.image import ImageKind
from unspool.tasks.inputs.kind import InputKind, Target
from unspool.tasks.inputs.music import MusicKind
from unspool.tasks.inputs.pair import PairKind
from unspool.tasks.inputs.series import SeriesKind
from unspool.tasks.inputs.strokes import StrokesKind
from unspool.tasks.inputs.text import TextKind
from unspool.tasks.inputs.video import VideoKind

# Order matters: the first match wins.
KINDS = (TextKind, PairKind, AudioKind, VideoKind, ImageKind, MusicKind, StrokesKind, SeriesKind)
INPUTS: dict[str, InputKind] = {kind.name: kind() for kind in KINDS}
TEXT = "text"
TASK_INPUTS = ("question", "story")  # read by one task alone, which has its own fields


def input_kind(data: DataConfig) -> InputKind:
    """Return the kind that is read; texts unless the plan has found something else."""
    return INPUTS.get(data.input, INPUTS[TEXT])


def reads_text(config: Config) -> bool:
    return input_kind(config.data).name == TEXT


def read_field(config: Config) -> Field:
    """Return the field of what is read, not fitted; of an ensemble, those of its models."""
    if config.members:
        members = [read_field(member) for member in config.members]
        return JoinedField(members[0].name, members)
    return input_kind(config.data).field(config)


def recommended_settings(settings: Mapping[str, Any], plan: Plan | None = None) -> dict[str, Any]:
    """Return defaults for what is read; `settings` may leave out sections."""
    name = settings.get("data.input", settings.get("input", "auto"))
    return INPUTS.get(name, INPUTS[TEXT]).recommended_settings(settings, plan)


__all__ = [
    "INPUTS",
    "InputKind",
    "Target",
    "input_kind",
    "read_field",
    "reads_text",
    "recommended_settings",
]
