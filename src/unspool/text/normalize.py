"""Normal form of a text: any string in, the string the tokenizers split out."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

FORMS: dict[str, Literal["NFC", "NFKC"] | None] = {"none": None, "nfc": "NFC", "nfkc": "NFKC"}


@dataclass(frozen=True)
class Normalizer:
    """Unicode normal form first, then case folding by `str.lower`."""

    form: str = "nfc"
    lowercase: bool = False

    def __call__(self, text: str) -> str:
        form = FORMS[self.form]
        if form is not None and not text.isascii():
            text = unicodedata.normalize(form, text)
        return text.lower() if self.lowercase else text

    def form_only(self) -> Normalizer:
        """The same with the case kept."""
        return Normalizer(self.form)
