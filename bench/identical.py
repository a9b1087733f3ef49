"""Does a change of the code change a number? Every task and every family of model, on small data.

    python bench/identical.py record before.json       # on the commit before
    python bench/identical.py compare before.json      # on the commit after, on the same machine

Of each case: the losses and validations of training, a hash of the final weights (of the tensors
alone: their names may change), and what the model answers. All must be equal to the bit. A run
takes a quarter of a minute in one thread; `--only tag` runs the cases whose name contains a word.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

CELLS = ("elman", "irnn", "lstm", "peephole", "coupled", "gru", "mingru", "minlstm")
WORDS = ["the", "a", "film", "plot", "cast", "music", "was", "is", "felt", "seemed", "very"]
GOOD, BAD = ["good", "great", "fine", "lovely"], ["bad", "poor", "dull", "awful"]
DICTIONARY = {"red": "rot", "house": "Haus", "tree": "Baum", "dog": "Hund", "sees": "sieht"}
CLOCK = ("seconds", "tokens_per_second", "time")
SMALL = {
    "epochs": 2,
    "threads": 1,
    "precision": "fp32",
    "lr": 0.01,
    "log_steps": 1,
}
RECURRENT = {**SMALL, "hidden": 16, "embedding": 12}
TRANSFORMER = {**SMALL, "hidden": 16, "heads": 2, "layers": 2}


class Case(NamedTuple):
    """What is trained, and what it is asked afterwards."""

    name: str
    data: str
    task: str
    model: str
    settings: dict[str, Any]
    ask: Callable[[Any], Any]
    start: str | None = None  # the name of another case


def make_data(folder: Path) -> None:
    """Reviews with labels, sentences with tags, pairs, and one long text."""
    rng = random.Random(1)
    reviews = []
    for i in range(160):
        words = rng.choices(WORDS, k=rng.randint(2, 9))
        words.insert(rng.randrange(len(words)), rng.choice((GOOD, BAD)[i % 2]))
        reviews.append((" ".join(words), ("pos", "neg")[i % 2]))
    rows = "".join(f"{text},{label}\n" for text, label in reviews)
    (folder / "reviews.csv").write_text("text,label\n" + rows)
    (folder / "book.txt").write_text("\n".join(f"{text}." for text, _ in reviews))
    (folder / "lines.txt").write_text("".join(f"{text} .\n" for text, _ in reviews))
    tagged = []
    for _ in range(80):
        rows = []
        for _ in range(rng.randint(1, 6)):
            if rng.random() < 0.4:
                rows.append((rng.choice(["Anna", "Berta", "Karl"]), "B-PER"))
                if rng.random() < 0.4:
                    rows.append(("Meier", "I-PER"))
            else:
                rows.append((rng.choice(WORDS), "O"))
        tagged.append("".join(f"{word} {tag}\n" for word, tag in rows))
    (folder / "spans.conll").write_text("\n".join(tagged))
    plain = "\n".join(tagged).replace("B-PER", "NAME").replace("I-PER", "NAME").replace(" O", " W")
    (folder / "plain.conll").write_text(plain)
    pairs = [rng.choices(list(DICTIONARY), k=rng.randint(1, 5)) for _ in range(150)]
    (folder / "pairs.en").write_text("".join(" ".join(pair) + "\n" for pair in pairs))
    written = (" ".join(DICTIONARY[word] for word in pair) for pair in pairs)
    (folder / "pairs.de").write_text("".join(f"{line}\n" for line in written))


def as_json(answers: Any) -> list[Any]:
    return [answer.to_json() for answer in answers]


def labels(run: Any) -> Any:
    return as_json(run.predict(["a fine film", "the plot was dull and very very bad", "", "xyz"]))


def tags(run: Any) -> Any:
    return as_json(run.predict(["Anna Meier was a film", ["Karl", "is", "Qq"], ""]))


def continuation(run: Any) -> Any:
    return run.generate("the film ", length=40, seed=3), run.generate("", length=9, temperature=0)


def translations(run: Any) -> Any:
    from unspool import Decoding

    texts = ["red dog sees house", "tree", "", "dog qqq tree"]
    return [
        as_json(run.predict(texts, decoding))
        for decoding in (
            Decoding(beam=1),
            Decoding(beam=4, nbest=2, alignment=True),
            Decoding(temperature=0.9, top_k=5, seed=3),
        )
    ]


def filled(run: Any) -> Any:
    return as_json(run.predict(["the film was <mask> .", "<mask> plot <mask>"]))


def contextual(run: Any) -> Any:
    return [
        (found.words, found.layers.tolist()) for found in run.vectors(["a fine film", "dull qq"])
    ]


def cases() -> Iterator[Case]:
    for cell in CELLS:
        for model in (cell, f"bi{cell}"):
            yield Case(f"classify-{model}", "reviews.csv", "classify", model, RECURRENT, labels)
        yield Case(
            f"generate-{cell}",
            "book.txt",
            "generate",
            cell,
            {**RECURRENT, "bptt": 24, "batch": 8},
            continuation,
        )
    more: list[tuple[str, str, str, dict[str, Any]]] = [
        ("classify-onehot", "bigru", "classify", {**RECURRENT, "embedding": 0}),
        (
            "classify-stacked",
            "bilstm",
            "classify",
            {**RECURRENT, "layers": 2, "pooling": "last", "max_length": 5},
        ),
        (
            "classify-chars",
            "lstm",
            "classify",
            {**RECURRENT, "kind": "char", "pooling": "attention"},
        ),
        (
            "classify-bpe",
            "lstm",
            "classify",
            {**RECURRENT, "kind": "bpe", "vocab": 270, "dense": 6},
        ),
        ("classify-cnn", "cnn", "classify", {**SMALL, "embedding": 12, "filters": 6}),
        ("classify-transformer", "transformer", "classify", TRANSFORMER),
        (
            "classify-cls",
            "transformer",
            "classify",
            {**TRANSFORMER, "pooling": "cls", "positions": "learned", "max_length": 8},
        ),
        (
            "classify-window",
            "transformer",
            "classify",
            {**TRANSFORMER, "self_attention": "window", "attention_window": 3},
        ),
    ]
    for name, model, task, settings in more:
        yield Case(name, "reviews.csv", task, model, settings, labels)
    yield Case(
        "generate-tied",
        "book.txt",
        "generate",
        "lstm",
        {**RECURRENT, "embedding": 16, "tied": True, "kind": "word", "bptt": 24, "batch": 8},
        continuation,
    )
    yield Case(
        "generate-bpe",
        "book.txt",
        "generate",
        "gru",
        {**RECURRENT, "kind": "bpe", "vocab": 270, "bptt": 24, "batch": 8},
        continuation,
    )
    yield Case(
        "generate-transformer",
        "book.txt",
        "generate",
        "transformer",
        {**TRANSFORMER, "bptt": 24, "batch": 8},
        continuation,
    )
    small_characters = {"character_embedding": 6, "character_hidden": 8}
    tagger = {**RECURRENT, **small_characters}
    for name, data, model, settings in (
        ("tag-bilstm", "spans.conll", "bilstm", tagger),
        ("tag-softmax", "spans.conll", "bigru", {**tagger, "output": "softmax"}),
        ("tag-cnn-characters", "spans.conll", "bilstm", {**tagger, "characters": "cnn"}),
        ("tag-plain", "plain.conll", "lstm", {**RECURRENT, "characters": "none"}),
        (
            "tag-cnn",
            "spans.conll",
            "cnn",
            {**SMALL, **small_characters, "embedding": 12, "filters": 6},
        ),
        ("tag-transformer", "plain.conll", "transformer", {**TRANSFORMER, **small_characters}),
    ):
        yield Case(name, data, "tag", model, {"batch": 16, **settings}, tags)
    pairs = {"vocab": 280, "batch": 16}
    for name, model, settings in (
        ("translate-seq2seq", "seq2seq", {**RECURRENT, "reverse_source": True}),
        ("translate-bahdanau", "bahdanau", RECURRENT),
        ("translate-luong", "luong", {**RECURRENT, "layers": 2}),
        (
            "translate-words",
            "luong",
            {**RECURRENT, "kind": "word", "attention": "concat", "joint": False, "min_count": 20},
        ),
        ("translate-transformer", "transformer", {**TRANSFORMER, "feed_forward": 24}),
    ):
        yield Case(
            name, "pairs.en,pairs.de", "translate", model, {**pairs, **settings}, translations
        )
    yield Case("pretrain", "lines.txt", "pretrain", "transformer", TRANSFORMER, filled)
    yield Case(
        "elmo",
        "lines.txt",
        "elmo",
        "elmo",
        {**SMALL, "hidden": 12, "projection": 8, "filters": 4, "batch": 16},
        contextual,
    )
    yield Case(
        "classify-from-pretrain",
        "reviews.csv",
        "classify",
        "transformer",
        SMALL,
        labels,
        "pretrain",
    )
    yield Case("classify-from-elmo", "reviews.csv", "classify", "bilstm", RECURRENT, labels, "elmo")
    yield Case(
        "tag-from-elmo", "spans.conll", "tag", "bilstm", {**tagger, "batch": 16}, tags, "elmo"
    )
    yield Case(
        "translate-from-bahdanau",
        "pairs.en,pairs.de",
        "translate",
        "bahdanau",
        {**RECURRENT, **pairs},
        translations,
        "translate-bahdanau",
    )


def weights_hash(path: Path) -> str:
    """Of all tensors, whatever their names and their order."""
    from safetensors.numpy import load_file

    tensors = load_file(path).values()
    hashes = sorted(
        hashlib.sha256(f"{t.dtype}{t.shape}".encode() + t.tobytes()).hexdigest() for t in tensors
    )
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def measure(case: Case, folder: Path) -> dict[str, Any]:
    import unspool

    out = folder / "runs" / case.name
    data = ",".join(str(folder / name) for name in case.data.split(","))
    start = None if case.start is None else folder / "runs" / case.start
    settings = dict(case.settings)
    if case.task == "classify":
        settings["calibrate"] = False
    run = unspool.train(data, task=case.task, model=case.model, out=out, start=start, **settings)
    log = [{k: v for k, v in record.items() if k not in CLOCK} for record in run.metrics()]
    loaded = unspool.load(out)
    answers = json.loads(json.dumps(case.ask(loaded)))
    return {"log": log, "weights": weights_hash(out / "model.safetensors"), "answers": answers}


def difference(before: Any, after: Any, path: str = "") -> str | None:
    """The first place where two results differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = [*before, *(key for key in after if key not in before)]
        missing = object()
        found = (
            difference(before.get(k, missing), after.get(k, missing), f"{path}.{k}") for k in keys
        )
        return next((each for each in found if each), None)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        found = (difference(b, a, f"{path}[{i}]") for i, (b, a) in enumerate(zip(before, after)))
        return next((each for each in found if each), None)
    return None if before == after else f"{path}: {str(before)[:90]} -> {str(after)[:90]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path, help="JSON, written by record, read by compare")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["UNSPOOL_CACHE"] = str(folder / "cache")
        make_data(folder)
        chosen = [case for case in cases() if arguments.only in case.name]
        needed = {case.start for case in chosen}
        for case in cases():
            if case in chosen or case.name in needed:
                results[case.name] = measure(case, folder)
                print(f"{case.name}: {results[case.name]['weights'][:12]}", file=sys.stderr)
    if arguments.what == "record":
        arguments.file.write_text(json.dumps(results))
        return
    before = json.loads(arguments.file.read_text())
    different = 0
    for name, after in results.items():
        where = difference(before.get(name), after)
        different += where is not None
        print(f"{name}: {'identical' if where is None else where}")
    print(f"{len(results) - different} of {len(results)} cases are identical")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
