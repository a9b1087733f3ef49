"""The runs that the page is tested with, a text for each, and waiting for the page."""

from __future__ import annotations

from typing import Any

SMALL = {"hidden": 16, "embedding": 16, "threads": 1, "lr": 0.01, "batch": 16}
TRANSFORMER = {**SMALL, "model": "transformer", "hidden": 16, "heads": 2, "layers": 2}

# name -> the fixture of its data or of its run, and how to train on the former
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "bilstm": ("classifier", {}),
    "bahdanau": ("translator", {}),
    "tagger": ("tagger", {}),
    "transformer": ("reviews", {**TRANSFORMER, "epochs": 12, "test_share": 0.1}),
    "writer": ("book", {**TRANSFORMER, "task": "generate", "epochs": 2, "bptt": 32}),
    "labels": ("genres", {**SMALL, "model": "gru", "epochs": 12}),
    "cnn": ("reviews", {**SMALL, "model": "cnn", "filters": 4, "epochs": 6}),
    "rater": ("ratings", {**SMALL, "model": "gru", "task": "regress", "epochs": 4}),
}
TEXTS = {
    "bilstm": "a lovely film with a dull plot",
    "bahdanau": "red house AEIOUA and green tree",
    "tagger": "Anna Kunz met Bern today .",
    "transformer": "a lovely film with a dull plot",
    "writer": "the film was",
    "labels": "a film with tears and tanks",
    "cnn": "a lovely film with a dull plot",
    "rater": "a lovely film with a dull plot",
}


def settle(page: Any) -> None:
    """Wait until the view stands, or an error in its place."""
    page.wait_for_selector("#panel:not([aria-busy])")
