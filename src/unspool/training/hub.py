"""Models of the Hugging Face hub (`--from hf:NAME`): a name in, a folder of this machine out.

    hf:prajjwal1/bert-tiny              the newest revision
    hf:prajjwal1/bert-tiny@6f75de8b...  a commit, which is read offline once it is there

Nothing is fetched unless a name begins with `hf:`: settings, tokenizers and safetensors, and no
file that may hold code. The commit is recorded in the run, whose folder needs neither the hub nor
its cache.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from unspool.errors import RunError

PREFIX = "hf:"
FILES = (
    "config.json", "*.safetensors", "model.safetensors.index.json", "tokenizer.json",
    "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt",
)  # fmt: skip
NAME = re.compile(r"[\w][\w.\-]*(/[\w][\w.\-]*)?", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")
MOST = 8 << 30  # bytes of all files


class HubModel(NamedTuple):
    """A folder in the cache of the hub's library, and what to call it: `hf:NAME@COMMIT`."""

    folder: Path
    name: str


def is_hub_name(path: str | Path) -> bool:
    return str(path).startswith(PREFIX)


def fetch(path: str | Path) -> HubModel:
    """The files of a model at one commit, from the cache or the hub."""
    where = str(path)
    name, _, revision = where.removeprefix(PREFIX).partition("@")
    if not NAME.fullmatch(name) or (not revision and "@" in where):
        raise RunError(
            "not the name of a model of the hub",
            where=where,
            remedy="write hf:OWNER/NAME, or hf:OWNER/NAME@REVISION",
        )
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")  # plain requests to the hub alone
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError:
        raise RunError(
            "models of the hub are fetched by huggingface_hub, which is not installed",
            where=where,
            remedy="pip install 'unspool[hub]'",
        ) from None
    if COMMIT.fullmatch(revision) and (folder := cached_folder(name, revision)) is not None:
        return HubModel(folder, f"{PREFIX}{name}@{revision}")
    endpoint = os.environ.get("HF_ENDPOINT")
    with hub_errors(where, revision):
        info = HfApi(endpoint=endpoint).model_info(
            name, revision=revision or None, files_metadata=True, timeout=30
        )
        files = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        refuse_files(files, where)
        fetched = snapshot_download(
            name, revision=info.sha, allow_patterns=list(FILES), endpoint=endpoint
        )
    return HubModel(Path(fetched), f"{PREFIX}{name}@{info.sha}")


def cached_folder(name: str, commit: str) -> Path | None:
    """The folder of a commit that was fetched whole before."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, IncompleteSnapshotError

    try:
        folder = snapshot_download(
            name, revision=commit, allow_patterns=list(FILES), local_files_only=True
        )
    except (OSError, ValueError, HfHubHTTPError, IncompleteSnapshotError):
        return None
    names = {path.name for path in Path(folder).iterdir()}
    whole = "config.json" in names and any(name.endswith(".safetensors") for name in names)
    return Path(folder) if whole else None


def refuse_files(files: dict[str, int], where: str) -> None:
    """Raise an error about a model without settings or safetensors, or of too many bytes."""
    if "config.json" not in files:
        raise RunError("has no config.json", where=where, remedy="choose another model")
    if not any(name.endswith(".safetensors") and "/" not in name for name in files):
        pickles = [name for name in files if name.endswith((".bin", ".pt", ".pth", ".ckpt"))]
        raise RunError(
            "has no safetensors; files that may hold code are not read",
            where=where,
            got=pickles[0] if pickles else None,
            remedy="choose a revision or a copy with model.safetensors",
        )
    size = sum(size for name, size in files.items() if name.endswith(".safetensors"))
    if size > MOST:
        raise RunError(
            f"more than {MOST >> 30} GB", where=where, got=f"{size / 1e9:.1f} GB",
            remedy="choose a smaller model",
        )  # fmt: skip


@contextmanager
def hub_errors(where: str, revision: str) -> Iterator[None]:
    """Give errors of the hub's library a line."""
    from huggingface_hub import errors as hub

    try:
        yield
    except RunError:
        raise
    except hub.RevisionNotFoundError:
        raise RunError(
            "the model has no such revision", where=where, got=revision, remedy="check its commits"
        ) from None
    except hub.GatedRepoError:
        raise RunError(
            "the model is gated", where=where, remedy="ask its owner, and set HF_TOKEN"
        ) from None
    except hub.RepositoryNotFoundError:
        raise RunError(
            "the hub has no such model, or it is private",
            where=where,
            remedy="check the name, or set HF_TOKEN",
        ) from None
    except (
        hub.EntryNotFoundError,
        hub.HfHubHTTPError,
        hub.HTTPError,
        OSError,
        ValueError,
    ) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise RunError(
            f"cannot be fetched ({reason})",
            where=where,
            remedy="check the network and try again; what has arrived is kept, and a commit that"
            " was fetched before, hf:NAME@COMMIT, needs no network",
        ) from None
