"""README.md of a folder of word vectors."""

from __future__ import annotations

from pathlib import Path

from unspool.training.card import settings_lines, table_row
from unspool.training.folder import RunFolder


def vector_card(folder: RunFolder, result: list[str]) -> str:
    """The card as Markdown: use, result, data, all settings."""
    record = folder.read_record()
    file = record["data"]["train"]
    lines = [
        f"# {folder.path.name}",
        "",
        f"Word vectors, made by {record['config']['method']} with unspool "
        f"{record['versions']['unspool']}.",
        "",
        f"    unspool vectors neighbours {folder.path} WORD",
        f"    unspool train DATA --set embedding.from={folder.path}",
        "",
        "## Result",
        "",
        *(f"    {line}" for line in result),
        "",
        "## Data",
        "",
        "| file | SHA-256 |",
        "|---|---|",
        table_row(Path(file["path"]).name, file["sha256"]),
        "",
        *settings_lines(record),
        f"On {record['threads']} threads. "
        "Versions: " + ", ".join(f"{k} {v}" for k, v in record["versions"].items()) + ".",
        "",
    ]
    return "\n".join(lines)
