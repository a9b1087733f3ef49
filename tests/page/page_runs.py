"""The runs that the page is tested with, a text for each, and waiting for the page."""

from __future__ import annotations

from typing import Any

QUICK = {"threads": 1, "lr": 0.01, "batch": 16}
SMALL = {**QUICK, "hidden": 16, "embedding": 16}
TRANSFORMER = {**QUICK, "model": "transformer", "hidden": 16, "heads": 2, "layers": 2}

AHEAD = {"task": "forecast", "target": "load", "horizon": 6, "window": 24, "epochs": 1}

HEARD = {"bands": 16, "epochs": 12, "layers": 1}
WRITTEN = {"task": "handwrite", "mixture": 2, "epochs": 1, "baseline": False}

FILMED = {"input": "video", "epochs": 6}

# name -> the fixture of its data or of its run, and how to train on the former
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "bilstm": ("classifier", {}),
    "bahdanau": ("translator", {}),
    "copying": ("mails", {**SMALL, "hidden": 32, "embedding": 24, "min_count": 2, "epochs": 6}),
    "tagger": ("tagger", {}),
    "transformer": ("reviews", {**TRANSFORMER, "epochs": 12, "test_share": 0.1}),
    "writer": ("book", {**TRANSFORMER, "task": "generate", "epochs": 2, "bptt": 32}),
    "labels": ("genres", {**SMALL, "model": "gru", "epochs": 12}),
    "cnn": ("reviews", {**QUICK, "model": "cnn", "embedding": 16, "filters": 4, "epochs": 6}),
    "rater": ("ratings", {**SMALL, "model": "gru", "task": "regress", "epochs": 4}),
    "moves": ("movements", {**SMALL, "model": "bilstm", "label": "move", "epochs": 4}),
    "attends": ("movements", {**TRANSFORMER, "label": "move", "epochs": 2}),
    "labelled": (
        "sessions",
        {**SMALL, "model": "gru", "task": "tag", "label": "move", "epochs": 6},
    ),
    "next": ("loads", {**SMALL, **AHEAD, "model": "gru", "patch": 4, "output": "quantiles"}),
    "spoken": (
        "spoken_tones",
        {**SMALL, **HEARD, "model": "bilstm", "task": "transcribe", "batch": 8, "epochs": 30},
    ),
    "tones": ("single_tones", {**SMALL, **HEARD, "model": "gru"}),
    "fitted": ("letter_strokes", {"model": "linear", "threads": 1}),
    "letters": ("letter_strokes", {**SMALL, "model": "bilstm", "epochs": 4}),
    "words": ("word_strokes", {**SMALL, **WRITTEN, "model": "lstm", "text_window": 2}),
    "scribble": ("letter_strokes", {**SMALL, **WRITTEN, "model": "gru", "conditional": False}),
    "chorale": ("chorales", {**SMALL, "model": "lstm", "layers": 2, "epochs": 2, "batch": 8}),
    "captioned": ("captions", {**SMALL, "model": "xu", "epochs": 30, "dropout": 0}),
    "described": ("captions", {**TRANSFORMER, "epochs": 2}),
    "clips": (
        "moving_clips",
        {**SMALL, **FILMED, "model": "bilstm", "label": "label", "baseline": False},
    ),
    "frames": ("moving_clips", {**SMALL, **FILMED, "model": "gru", "task": "tag", "label": "tags"}),
    "told": ("moving_clips", {**SMALL, **FILMED, "model": "xu", "task": "caption", "epochs": 20}),
    "pairs": ("text_pairs", {**SMALL, "model": "bilstm", "epochs": 2, "baseline": False}),
    "spans": (
        "placed_answers",
        {**SMALL, "task": "answer", "model": "bigru", "epochs": 12, "dropout": 0.0},
    ),
    "reduction": ("stories", {**SMALL, "epochs": 2}),
    "memory": ("stories", {**SMALL, "model": "memory", "epochs": 2}),
    "lists": ("stories", {**SMALL, "answer": "write", "epochs": 8}),
    "own": ("loads", {**SMALL, **AHEAD, "model": "lstm", "strategy": "recursive"}),
}
# Those that read series, whose inputs are examples by number.
SERIES = ("moves", "attends", "labelled", "next", "own")
# Those that read sound, strokes, music, images or videos.
OTHERS = (
    "fitted", "spoken", "tones", "letters", "words", "scribble", "chorale", "captioned",
    "described", "clips", "frames", "told",
)  # fmt: skip
STORY = "Zoe went to the kitchen. Carl went to the hall. Zoe went to the hall. ||| Where was Zoe?"
TEXTS = {
    "bilstm": "a lovely film with a dull plot",
    "bahdanau": "red house AEIOUA and green tree",
    "copying": "please note that with zzyzxqq we shall meet",
    "tagger": "Anna Kunz met Bern today .",
    "transformer": "a lovely film with a dull plot",
    "writer": "the film was",
    "labels": "a film with tears and tanks",
    "cnn": "a lovely film with a dull plot",
    "rater": "a lovely film with a dull plot",
    "pairs": "a man sleeps in the house ||| the dog sleeps",
    "spans": "Where does Anna live? ||| Anna lives in Zug, and Carl works in Bern.",
    **dict.fromkeys(("reduction", "memory", "lists"), STORY),
    **dict.fromkeys((*SERIES, *OTHERS), "1"),
}


def settle(page: Any) -> None:
    """Wait until the view stands, or an error in its place."""
    page.wait_for_selector("#panel:not([aria-busy])")
