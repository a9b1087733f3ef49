"""Section of settings: frozen, typed, each with its help text; unknown names are refused."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        protected_namespaces=(),
        allow_inf_nan=False,
        validate_by_name=True,
        serialize_by_alias=True,  # a setting may be called `from`, which no Python name may
    )


def setting(default: Any, help: str, *, when: str | tuple[str, ...] = (), **bounds: Any) -> Any:
    """A field with its help text.

    when   conditions on other settings, such as "model.network=cnn|transformer", of which one must
           hold for the setting to be read; a bare name holds where that setting is not empty or 0
    """
    conditions: list[Any] = [when] if isinstance(when, str) else list(when)
    return Field(default, description=help, json_schema_extra={"when": conditions}, **bounds)


def declare(**sections: str) -> frozenset[str]:
    """Full names of settings: declare(data="label missing") -> {"data.label", "data.missing"}"""
    return frozenset(f"{section}.{n}" for section, names in sections.items() for n in names.split())


def _split_commas(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


def _join_commas(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


Names = Annotated[str | None, BeforeValidator(_join_commas)]
Width = Annotated[int, Field(ge=1, le=1000)]
Widths = Annotated[tuple[Width, ...], BeforeValidator(_split_commas), Field(min_length=1)]


MOST = 10**12  # of what is counted: steps, rows, tokens
NEURAL = "model.network=recurrent|cnn|transformer"  # trained by gradient descent
TEXTS = "data.input=auto|text|pair|question"
