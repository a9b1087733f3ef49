"""Damaged data of every format, and sound data with wrong options, through every command that reads
data. Where `train` accepts a file, its run has to load and answer."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from pathlib import Path

import samples
from mutate import PIECES, damage
from part import Part
from samples import (
    COMPRESSIONS,
    FORMATS,
    OF_SERIES,
    RUNS,
    SETTINGS,
    SHELVES,
    VECTORS,
    needed,
    read_by,
    task_of,
    toml,
    train_run,
    wanted_runs,
    write_sample,
)
from supervise import Case, apart, in_this_process

FORMAT_NAMES = [
    "csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "labelled", "fasttext", "lines",
    "text", "conll", "conllu", "ts", "npy", "pixels", "audio", "image", "sketch", "inkml", "unipen",
    "auto", "x", "",
]  # fmt: skip
ENCODINGS = [
    "utf-8", "latin-1", "utf-16", "utf-16-le", "utf-32", "cp1252", "ascii", "utf-7", "shift_jis",
    "idna", "punycode", "base64", "rot13", "unicode_escape", "raw_unicode_escape", "undefined",
    "hex", "x", "", "utf_8_sig", "big5", "cp037", "zlib",
]  # fmt: skip
COLUMNS = ["text", "label", "0", "1", "2", "3", "-1", "99", "²", "text,label", "text,text", "", ",",
           "x", "9" * 30, "tokens", "tags", "rating", "form", "xpos", "é"]  # fmt: skip
COMMANDS = ["check", "check", "train", "train", "train", "predict", "predict", "evaluate", "embed",
            "topics", "look", "follow"]  # fmt: skip
MODELS = ["bilstm", "gru", "cnn", "transformer", "linear", "lstm", "bahdanau", "elmo", "majority"]
SMALL = {**SETTINGS, "max_steps": 2, "epochs": 1, "baseline": False}


def small_words(name: str, task: str, model: str | None = None) -> list[str]:
    """The options of `train` for a small model on data of a format."""
    settings = read_by(name, task, model, SMALL)
    return [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]


class Inputs(Part):
    """Files that were damaged."""

    name = "inputs"
    short = 30
    batch = 20

    def prepare(self) -> None:
        apart(lambda: train_and_read(self.runs))

    def case(self, case: Case) -> None:
        rng = case.random
        samples.odd_words, samples.odd_numbers = [], []
        kind = rng.random()
        if samples.wanted:
            self.data(case)
        elif kind < 0.06:
            self.vectors(case)
        elif kind < 0.12:
            self.toml(case)
        else:
            self.data(case)

    def data(self, case: Case) -> None:
        rng = case.random
        path, name = write_damaged(case.folder / "data", rng)
        task = task_of(name)
        options = reading_options(rng, series=name in OF_SERIES)
        command = rng.choice(COMMANDS)
        if command in ("check", "train") and rng.random() < 0.9:
            options += needed(name)
        if command == "check":
            asked = ["-t", rng.choice([task, *FORMATS_TASKS])] if rng.random() < 0.3 else []
            case.run("check", path, *asked, *options, *(["--json"] if rng.random() < 0.3 else []))
        elif command == "train":
            self.train(case, path, name, options)
        elif command == "embed":
            case.run(
                "embed", path, "-o", "out", "-s", "size=4", "-s", "epochs=1", *no_labels(options)
            )
        elif command == "topics":
            self.topics(case, path, options)
        else:
            runs = wanted_runs()
            alike = [n for n in runs if (RUNS[n][0] in OF_SERIES) == (name in OF_SERIES)]
            run = self.runs / rng.choice([n for n in alike if RUNS[n][1] == task] or alike or runs)
            if rng.random() < 0.2:
                run = self.runs / rng.choice(runs)
            if command == "look":
                case.run("look", run, path, "--json")
            elif command == "follow":
                first = next((p for p in [Path(path), *Path(path).rglob("*")] if p.is_file()), None)
                case.run("predict", run, "--follow", stdin=first.read_bytes() if first else b"")
            # A language model continues every line by 200 tokens, and lines may be thousands.
            elif command == "evaluate" or run.name == "writer":
                case.run("evaluate", run, path, *options)
            else:
                self.predict(case, run, path, no_labels(options))

    def train(self, case: Case, path: str, name: str, options: list[str]) -> None:
        rng, task = case.random, task_of(name)
        asked = ["-t", task] if rng.random() < 0.3 else []
        if rng.random() < 0.1:
            asked = ["-t", rng.choice(FORMATS_TASKS)]
        if "forecast" in asked or (task == "forecast" and rng.random() < 0.8):
            asked += ["--horizon", rng.choice(["1", "3", "3", "3", "30", "0", "1000000"])]
        model = rng.choice(MODELS) if rng.random() < 0.3 else None
        if model is not None:
            asked += ["-m", model]
        if rng.random() < 0.2:
            asked += ["-s", f"kind={rng.choice(['char', 'word', 'bpe'])}"]
        small = small_words(name, task, model)
        if name in SHELVES:  # of few files
            asked += ["-s", "valid_share=0.3"]
        ended = case.run("train", path, "-o", "out", *small, *asked, *options)
        saved = (case.folder / "out" / "model.safetensors").exists()
        if ended.code == 0:
            case.check(saved, "train ended well without a model")
            config = json.loads((case.folder / "out" / "config.json").read_text())["config"]
            whole = name in OF_SERIES and config["task"] != "generate"  # which continues every line
            texts = ["--file", path] if whole else ["good film", "x"]
            case.run("predict", "out", *texts)
        elif ended.code == 2:
            case.check(
                not (case.folder / "out").exists(), f"refused, but left a folder: {ended.error}"
            )

    def topics(self, case: Case, path: str, options: list[str]) -> None:
        """Found, and then given to new texts, or to the same file."""
        rng = case.random
        asked = [word for word in options if word.startswith(("--format", "--encoding", "--text"))]
        own = ["-s", "map=none"] if rng.random() < 0.8 else []
        if rng.random() < 0.7:
            own += ["--topics", rng.choice(["1", "2", "3", "500"])]
        if rng.random() < 0.5:
            own += ["--method", rng.choice(["nmf", "lda", "clusters"])]
        ended = case.run("topics", path, "-o", "out", *own, *asked)
        saved = (case.folder / "out").exists()
        if ended.code == 0:
            case.check(saved, "topics ended well without a folder")
            new = ["--file", path] if rng.random() < 0.5 else ["good film", ""]
            case.run("topics", "out", *new, "--json")
        elif ended.code == 2:
            case.check(not saved, f"refused, but left a folder: {ended.error}")

    def predict(self, case: Case, run: Path, path: str, options: list[str]) -> None:
        """A file, and the same compressed, have the same answers."""
        rng = case.random
        if rng.random() < 0.3:
            out = rng.choice(["a.csv", "a.tsv", "a.jsonl", "a.txt", "a.conll", "a.x", "no/a.csv"])
            case.run("predict", run, "--file", path, "--out", out, *options)
            return
        first = case.run("predict", run, "--file", path, "--json", *options)
        if rng.random() < 0.3 and Path(path).is_file() and Path(path).suffix not in COMPRESSIONS:
            packed, named = Path(f"{path}.gz"), Path(path).name
            packed.write_bytes(gzip.compress(Path(path).read_bytes()))
            again = case.run("predict", run, "--file", packed, "--json", *options)
            same = (first.code, first.out) == (again.code, again.out.replace(packed.name, named))
            case.check(same, f"not the same when compressed: {first.error} / {again.error}")

    def vectors(self, case: Case) -> None:
        rng = case.random
        content = damage(rng.choice(list(VECTORS.values()))(rng), rng)
        path = case.folder / rng.choice(["v.txt", "v.vec", "v.bin", "v.txt.gz"])
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        word = rng.choice(["good", "", "²", "x y", "<unk>"])
        action = rng.randrange(4)
        if action == 0:
            case.run("vectors", "neighbours", path, word)
        elif action == 1:
            case.run("vectors", "analogy", path, "good", "bad", word)
        elif action == 2:
            case.run("vectors", "convert", path, rng.choice(["o.txt", "o.bin", "o.vec", "o"]))
        else:
            data = write_sample("csv", case.folder)
            case.run(
                "train",
                data,
                "-o",
                "out",
                *small_words("csv", "classify"),
                "-s",
                f"embedding.from={path}",
            )

    def toml(self, case: Case) -> None:
        path, data = case.folder / "c.toml", write_sample("csv", case.folder)
        path.write_bytes(damage(toml(case.random), case.random))
        case.run("train", data, "-o", "out", "-c", path, *small_words("csv", "classify"))


ODD_WORDS = [piece.decode("utf-8", "ignore").replace("\0", "") or "x" for piece in PIECES]
ODD_WORDS = [word for word in ODD_WORDS if len(word) < 6000]
ODD_NUMBERS = [
    "", "NaN", "nan", "NA", "?", "inf", "-inf", "1e999", "-1e308", "1e300", "1e-320", "-0", "0x10",
    "1_0", "1,5", "1.234.567", "1e", "--1", "+1", "٣", "²", "½", "true", "null", "x", "9" * 400,
    "2024-01-01", "0", "0", "1000000000",
]  # fmt: skip
FORMATS_TASKS = sorted({format.task for format in FORMATS.values()} | {"pretrain", "elmo", "x", ""})


def train_and_read(runs: Path) -> None:
    """Train all runs, and read every format, so that what it takes is imported."""
    for name in wanted_runs():
        train_run(name, runs)
    if samples.wanted:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in [*FORMATS, *SHELVES]:
            in_this_process(["check", str(write_sample(name, Path(folder)))], Path(folder), None)
        corpus = str(write_sample("plain", Path(folder)))
        for words in (
            ["predict", str(runs / "bilstm"), "a"],
            ["predict", str(runs / "motions"), "--follow"],
            ["look", str(runs / "bilstm"), "a"],
            ["look", str(runs / "motions"), str(write_sample("steps", Path(folder)))],
        ):
            in_this_process(words, Path(folder), None)
        in_this_process(["embed", corpus, "-o", f"{folder}/out", "-s", "x=1"], Path(folder), None)


def write_damaged(folder: Path, rng: random.Random) -> tuple[str, str]:
    """Data as a path, and the name of the format that they are like."""
    folder.mkdir()
    shape = rng.random()
    name = rng.choice(samples.wanted or list(FORMATS))
    if name in SHELVES:
        return write_damaged_shelf(folder, rng, name)
    if not samples.wanted and shape < 0.24:
        return write_several(folder, rng, shape)
    ending, make = FORMATS[name][:2]

    if rng.random() < 0.5:  # a whole file with odd content
        samples.odd_words = rng.choices(ODD_WORDS, k=rng.randint(1, 12))
        samples.odd_numbers = rng.choices(ODD_NUMBERS, k=rng.randint(1, 3))
        content = make(rng)
    else:
        content = damage(make(rng), rng)
    if rng.random() < 0.15:  # what its name says is not so
        ending = rng.choice([other.ending for other in FORMATS.values()] + ["", ".x"])
    path = folder / f"data{ending}"
    if rng.random() < 0.12:
        packing = rng.choice(list(COMPRESSIONS))
        content = COMPRESSIONS[packing](content)
        if rng.random() < 0.4:
            content = damage(content, rng, 1)
        path = path.with_name(path.name + packing)
    path.write_bytes(content)
    return str(path), name


def write_several(folder: Path, rng: random.Random, shape: float) -> tuple[str, str]:
    """Data of several files."""
    if shape < 0.06:
        return write_parallel(folder, rng), "pairs"
    if shape < 0.12:
        return write_folder(folder, rng), "plain"
    return write_damaged_shelf(folder, rng, rng.choice(list(SHELVES)))


def write_parallel(folder: Path, rng: random.Random) -> str:
    rows = [line.split("\t") for line in FORMATS["pairs"].make(rng).decode().splitlines()]
    paths = [folder / "a.en", folder / "a.de"]
    for i, path in enumerate(paths):
        content = "\n".join(row[i] for row in rows).encode()
        path.write_bytes(damage(content, rng, rng.choice([0, 0, 1, 2])))
    return ",".join(map(str, paths))


def write_folder(folder: Path, rng: random.Random) -> str:
    """LABEL.txt files, or a folder for each label; among them what does not belong there."""
    content = FORMATS["plain"].make(rng)
    odd = ["", "a b", "é", "-", "x" * 200, "train", "..x", "\udcff"]
    for label in ["pos", "neg", *rng.sample(odd, k=rng.randint(0, 2))]:
        path = folder / f"{label}.txt"
        if rng.random() < 0.5:
            (folder / f"_{label}").mkdir()
            path = folder / f"_{label}" / "1.txt"
        path.write_bytes(damage(content, rng, rng.choice([0, 0, 1, 3])))
    if rng.random() < 0.2:
        (folder / "dangling.txt").symlink_to(folder / "nowhere")
    if rng.random() < 0.1:
        (folder / "loop").symlink_to(folder)
    if rng.random() < 0.1:
        (folder / "folder.txt").mkdir()
    return str(folder)


def write_damaged_shelf(folder: Path, rng: random.Random, name: str) -> tuple[str, str]:
    """A folder of recordings or drawings, some of whose files are damaged, or one file of it."""
    if rng.random() < 0.2:
        samples.odd_numbers = rng.choices(ODD_NUMBERS, k=rng.randint(1, 3))
    place = SHELVES[name].write(folder / name, rng)
    files = sorted(path for path in place.rglob("*") if path.is_file())
    for path in rng.sample(files, k=rng.choice([0, 1, 1, 3])):
        content = path.read_bytes()
        head = 44 if path.suffix in (".wav", ".png") and rng.random() < 0.5 else len(content)
        path.write_bytes(damage(content[:head], rng) + content[head:])
    return str(rng.choice(files) if rng.random() < 0.1 else place), name


def reading_options(rng: random.Random, *, series: bool = False) -> list[str]:
    """How to read the data; mostly as the file itself suggests."""
    options: list[str] = []
    for name, values, chance in (
        ("--format", FORMAT_NAMES, 0.06),
        ("--encoding", ENCODINGS, 0.05),
        ("--text", COLUMNS, 0.05),
        ("--label", COLUMNS, 0.05),
        ("--series", [*COLUMNS, "x", "x,y", "load"], 0.06 if series else 0.01),
        ("--time", [*COLUMNS, "time", "none"], 0.06 if series else 0.01),
        ("--id", [*COLUMNS, "id", "none"], 0.06 if series else 0.01),
    ):
        if rng.random() < chance:
            options.append(f"{name}={rng.choice(values)}")
    return options


def no_labels(options: list[str]) -> list[str]:
    return [word for word in options if not word.startswith("--label")]
