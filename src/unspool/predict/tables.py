"""Lists of answers that show themselves in a notebook."""

from __future__ import annotations

from html import escape

from unspool.predict.classifier import Prediction
from unspool.predict.tagger import TaggedText
from unspool.tasks.translation import Translation


class Predictions(list[Prediction]):
    """A list of predictions that shows itself as a table in a notebook."""

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(p.label)}</td><td>{p.probabilities[p.label]:.3f}</td>"
            f"<td>{escape(p.text[:200])}</td></tr>"
            for p in self
        )
        return f"<table><tr><th>label</th><th>probability</th><th>text</th></tr>{rows}</table>"


class Translations(list[Translation]):
    """A list of translations that shows itself as a table in a notebook."""

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(t.text)}</td><td>{escape(t.translation)}</td>"
            f"<td>{t.score:.3f}</td></tr>"
            for t in self
        )
        return f"<table><tr><th>text</th><th>translation</th><th>score</th></tr>{rows}</table>"


class TaggedTexts(list[TaggedText]):
    """A list of tagged texts that shows itself as lines, and as a table in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(str(text))}</td></tr>" for text in self)
        return f"<table>{rows}</table>"
