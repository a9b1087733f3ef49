"""Lists of answers that show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from unspool.predict.classifier import Prediction
from unspool.predict.tagger import TaggedText
from unspool.tasks.translation import Translation


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """As HTML, whatever the cells contain."""
    lines = [("th", heads)] if heads else []
    lines += [("td", row) for row in rows]
    shown = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in shown)}</table>"


class Predictions(list[Prediction]):
    """A list of predictions that shows itself as a table in a notebook."""

    def _repr_html_(self) -> str:
        rows = ((p.label, f"{p.probabilities[p.label]:.3f}", p.text[:200]) for p in self)
        return table(["label", "probability", "text"], rows)


class Translations(list[Translation]):
    """A list of translations that shows itself as a table in a notebook."""

    def _repr_html_(self) -> str:
        rows = ((t.text, t.translation, f"{t.score:.3f}") for t in self)
        return table(["text", "translation", "score"], rows)


class TaggedTexts(list[TaggedText]):
    """A list of tagged texts that shows itself as lines, and as a table in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return table([], ([str(text)] for text in self))
