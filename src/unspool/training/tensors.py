"""Named tensors and a little JSON in one safetensors file that knows whether it is whole.

The header carries a SHA-256 of the JSON and of every tensor's name, shape, type and bytes, so a cut
file, a flipped bit or a swapped tensor is noticed on loading. No code is ever executed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from unspool.io.files import check_regular, parse_json, write_atomic


class DamagedFile(Exception):
    """The file is not what was written; the message has the evidence."""


class TensorFile(NamedTuple):
    tensors: dict[str, Tensor]
    meta: dict[str, Any]


def save_tensors(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Write atomically; tied tensors are stored once for each name."""
    copies = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    note = json.dumps(meta, sort_keys=True)
    # One entry only: the library writes several in no fixed order, and equal runs would differ.
    write_atomic(path, save(copies, {"unspool": json.dumps([note, _digest(copies, note)])}))


def load_tensors(path: Path) -> TensorFile:
    """Read and verify; raises DamagedFile (or FileNotFoundError)."""
    try:
        check_regular(path)
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DamagedFile(f"not a whole safetensors file ({reason})") from None
    try:
        note, checksum = parse_json(header["unspool"].encode())
    except (KeyError, ValueError, TypeError):
        raise DamagedFile("written by another program: it has no checksum") from None
    if _digest(tensors, str(note)) != checksum:
        raise DamagedFile("its checksum does not match its content")
    return TensorFile(tensors, parse_json(note.encode()))


def _digest(tensors: dict[str, Tensor], note: str) -> str:
    sha = hashlib.sha256(note.encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        sha.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        sha.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()
