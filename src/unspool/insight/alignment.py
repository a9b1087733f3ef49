"""An alignment as a picture of characters: what was read across, what was written downwards."""

from __future__ import annotations

from unspool.tasks.translation import Translation
from unspool.text.vocab import END

SHADES = " ░▒▓█"


def draw(translation: Translation) -> list[str]:
    """Lines for a terminal; each row shows where one token looked.

    Tokens of one character stand side by side; others get the width of the longest token.
    """
    alignment = translation.alignment
    if alignment is None:
        return []
    read = ["·" if token == END else shown(token) for token in translation.source_tokens]
    written = [shown(token) for token in translation.tokens]
    width = max(map(len, read))
    margin = max(map(len, written), default=0)
    gap = " " if width > 1 else ""
    lines = [" " * (margin + 1) + gap.join(token.rjust(width) for token in read)]
    for token, weights in zip(written, alignment):
        shades = [SHADES[min(len(SHADES) - 1, int(len(SHADES) * float(w)))] for w in weights]
        cells = gap.join((shade * min(width, 2)).rjust(width) for shade in shades)
        lines.append(f"{token.rjust(margin)} {cells}".rstrip())
    return lines


def shown(token: str) -> str:
    return token.strip() or "␣"
