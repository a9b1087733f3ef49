"""The files of a pretrained folder: config.json and safetensors in, settings and tensors out.

Nothing in the folder is executed: weights in a pickle (pytorch_model.bin) are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from unspool.errors import RunError
from unspool.io.files import check_regular, parse_json, read_regular

ONE, MANY = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "model.pth")
COPY = "copy the folder again"

T = TypeVar("T", int, float, str, bool)


class Settings:
    """The values of config.json; what is missing or of another type is refused."""

    def __init__(self, path: Path, values: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.values = read_json(path) if values is None else values

    def get(self, name: str, kind: type[T], default: T | None = None) -> T:
        value = self.values.get(name, default)
        if kind is float and isinstance(value, int):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            names = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}
            raise RunError(
                f"{name} must be {names[kind]}",
                where=self.path,
                got="nothing" if value is None else value,
                remedy=COPY,
            )
        return value

    def demand(self, name: str, only: object) -> None:
        """Refuse a setting that is there with another value than the one that can be read."""
        value = self.values.get(name)
        if value is not None and value != only:
            raise RunError(
                f"{name} must be {json.dumps(only)}: other models cannot be read",
                where=self.path,
                got=value,
                remedy="choose another pretrained folder",
            )


class CheckpointWeights:
    """The tensors of a folder by name, read when asked for, as float32."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = _files(folder)

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.files:
            raise RunError(
                f"has no tensor {name!r}",
                where=self.folder,
                remedy="its config.json and its weights do not belong together; " + COPY,
            )
        path, stored = self.files[name]
        with _opened(path) as file:
            return file.get_tensor(stored).to(torch.float32)


def read_json(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(read_regular(path))
    except FileNotFoundError:
        raise RunError(
            f"not a pretrained folder: it has no {path.name}",
            where=path.parent,
            remedy="give a folder with config.json, model.safetensors and tokenizer.json",
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RunError(f"cannot be read ({reason})", where=path, remedy=COPY) from None
    if not isinstance(value, dict):
        raise RunError("holds no settings", where=path, got=value, remedy=COPY)
    return value


def _files(folder: Path) -> dict[str, tuple[Path, str]]:
    """{name: (file, name in the file)}; old files have gamma and beta for a norm's parameters."""
    if (folder / ONE).exists():
        paths = [folder / ONE]
    elif (folder / MANY).exists():
        paths = _shards(folder / MANY)
    else:
        pickles = [name for name in PICKLES if (folder / name).exists()]
        raise RunError(
            f"has no {ONE}" + (", only a pickle, which could run any code" if pickles else ""),
            where=folder,
            got=pickles[0] if pickles else None,
            remedy="save the model as safetensors, which holds nothing but numbers",
        )
    files = {}
    for path in paths:
        with _opened(path) as file:
            for stored in file.keys():  # noqa: SIM118
                name = stored.replace(".gamma", ".weight").replace(".beta", ".bias")
                files[name] = (path, stored)
    return files


def _shards(index: Path) -> list[Path]:
    listed = read_json(index).get("weight_map")
    names = sorted(set(listed.values())) if isinstance(listed, dict) else [None]
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise RunError("names no files of this folder", where=index, got=name, remedy=COPY)
    return [index.parent / str(name) for name in names]


def _opened(path: Path) -> Any:
    try:
        check_regular(path)
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise RunError(f"not a whole safetensors file ({error})", where=path, remedy=COPY) from None
