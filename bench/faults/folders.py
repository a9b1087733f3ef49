"""Damaged run folders: bytes, values of their JSON files, files that are missing, swapped, of
another kind, endless. A damaged run is refused in one line, or answers as before.

Half of them have lost their list of hashes as well, as if somebody had changed the run on purpose:
then it may answer otherwise, but only with a word about the missing list.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from pathlib import Path

from mutate import damage, damage_json, damage_value, places
from part import Part
from samples import OF_SERIES, RUNS, TEXTS, path_of, question, train_run, train_vectors, wanted_runs
from supervise import Case, Ended, apart, in_this_process

HASHES = "hashes.json"
SHORT = ["-s", "max_steps=1", "-s", "threads=1", "-s", "baseline=false"]


class Folders(Part):
    """Run folders that were damaged."""

    name = "folders"
    short = 20
    batch = 20

    def prepare(self) -> None:
        self.whole = apart(self.answers)

    def answers(self) -> dict[str, list[tuple[list[str], Ended | None]]]:
        """Of all whole runs, to all that they are asked."""
        for name in wanted_runs():
            train_run(name, self.runs)
        train_vectors(self.runs)
        return {
            name: [(words, self.answer(name, words)) for words in self.commands(name)]
            for name in [*wanted_runs(), "vectors"]
        }

    def answer(self, name: str, words: list[str]) -> Ended | None:
        """Of the whole run; None where a command writes rather than answers."""
        if words[0] == "train":
            return None
        return in_this_process(placed(words, self.runs / name), self.runs, None)

    def case(self, case: Case) -> None:
        rng = case.random
        name = rng.choice(list(self.whole))
        words, before = rng.choice(self.whole[name])
        run = case.folder / "run"
        shutil.copytree(self.runs / name, run)
        listed = rng.random() < 0.5
        if not listed:
            (run / HASHES).unlink(missing_ok=True)
        for _ in range(rng.choice([1, 1, 1, 2])):
            damage_run(run, rng, self.runs)
        after = case.run(*placed(words, run))
        if before is not None and listed and (run / HASHES).exists():
            case.check(same_or_refused(before, after), difference(before, after))

    def commands(self, name: str) -> list[list[str]]:
        """What reads the folder RUN of this name."""
        asked = question(name, Path("RUN"), self.runs / "data")
        if name == "vectors":
            return [asked]
        format, task, _, _ = RUNS[name]
        file = str(path_of(format, self.runs / "data"))
        looked = file if format in OF_SERIES else TEXTS[0]
        more = [["summary", "RUN"], ["look", "RUN", looked, "--json"]]
        if task != "elmo":
            more += [
                ["evaluate", "RUN", file, "--json"],
                ["train", file, "-t", task, "--from", "RUN", "-o", "out", *SHORT],
            ]
        return [*[asked] * 4, *more]


class Forged(Folders):
    """Run folders, and one of topics, with other values and the hashes of these: refused, or
    answered, within the bounds of memory and time."""

    name = "forged"
    short = 20
    patience = 20.0

    def answers(self) -> dict[str, list[tuple[list[str], Ended | None]]]:
        for name in wanted_runs():
            train_run(name, self.runs)
        topics = self.runs / "topics"
        if not topics.exists():
            corpus = str(path_of("csv", self.runs / "data"))
            words = ["topics", corpus, "-o", str(topics), "--topics", "2", "-s", "map=none"]
            in_this_process(words, self.runs, None)
        named = {name: self.commands(name) for name in wanted_runs()}
        if topics.exists():
            named["topics"] = [["topics", "RUN", "good film", "--json"]]
        return {name: [(words, None) for words in listed] for name, listed in named.items()}

    def case(self, case: Case) -> None:
        rng = case.random
        name = rng.choice([*self.whole, *["topics", "composer", "transcriber"] * 3])
        run = case.folder / "run"
        shutil.copytree(self.runs / name, run)
        path = forge(run, rng)
        ended = case.run(*placed(rng.choice(self.whole[name])[0], run))
        case.check(ended.code in (0, 2), f"{path.name}: exit code {ended.code}")


HUGE = [10**9, 2**31, 2**63, 10**12, -1, 0, "1", "1e9", 1e30, -1e30, [1], {}, None, True, 10**400]


def forge(run: Path, rng: random.Random) -> Path:
    """Another value in one file of a run, which its hashes list."""
    from unspool.io.files import list_hash

    files = sorted(run.glob("*.json")) + sorted(run.glob("*.safetensors"))
    path = rng.choice([path for path in files if path.name != HASHES])
    if path.suffix == ".safetensors":
        forge_tensors(path, rng)
        return path
    value = json.loads(path.read_bytes())
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.6 and (spots := places(value)):
            holder, key = rng.choice(spots)
            holder[key] = rng.choice(HUGE)
        else:
            value = damage_value(value, rng)
    path.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
    list_hash(path)
    return path


def forge_tensors(path: Path, rng: random.Random) -> None:
    """Another tensor, and the hash of all of them inside of the file."""
    import torch

    from unspool.training.tensors import load_tensors, save_tensors

    tensors, meta = load_tensors(path)
    name = rng.choice(sorted(tensors))
    old = tensors[name]
    kind = rng.randrange(6)
    if kind == 0:
        new = torch.full_like(old, -1e30 if old.is_floating_point() else -1)
    elif kind == 1:
        new = torch.full_like(old, float("nan") if old.is_floating_point() else 2**30)
    elif kind == 2:
        new = old.to(torch.int64) if old.is_floating_point() else old.to(torch.float32)
    elif kind == 3:
        new = old.new_zeros((0, *old.shape[1:]))
    elif kind == 4:
        new = old.reshape(-1)
    else:
        new = torch.full_like(old, 1e30 if old.is_floating_point() else 10**9)
    save_tensors(path, {**tensors, name: new.contiguous()}, meta)


def placed(words: list[str], run: Path) -> list[str]:
    return [str(run) if word == "RUN" else word for word in words]


def same_or_refused(before: Ended, after: Ended) -> bool:
    return after.code == 2 or (after.code, after.out) == (before.code, before.out)


def difference(before: Ended, after: Ended) -> str:
    """Where two answers part."""
    if before.code != after.code:
        return f"exit code {after.code}, not {before.code}: {after.error}"
    place = next((i for i, (a, b) in enumerate(zip(before.out, after.out)) if a != b), 0)
    start = max(0, place - 40)
    return f"another answer: {before.out[start:][:100]!r} became {after.out[start:][:100]!r}"


def damage_run(run: Path, rng: random.Random, others: Path) -> None:
    """One damage to one file of a run."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and not path.is_symlink())
    files = [path for path in files if path.stat().st_size < 1 << 30]
    if not files:
        return
    path = rng.choice(files)
    if rng.random() < 0.5:  # small files hold what is read first
        path = rng.choice([p for p in files if p.suffix == ".json"] or files)
    action = rng.random()
    content = path.read_bytes()
    if action < 0.35 and path.suffix in (".json", ".jsonl", ".safetensors"):
        path.write_bytes(damaged_values(path, content, rng))
    elif action < 0.65:
        path.write_bytes(damage(content, rng))
    elif action < 0.75:
        path.unlink()
        if rng.random() < 0.3:
            shutil.rmtree(path, ignore_errors=True)
    elif action < 0.85:
        swap(path, rng, files, others)
    else:
        path.unlink()
        put_in_place(path, rng)


def damaged_values(path: Path, content: bytes, rng: random.Random) -> bytes:
    """As text, where an earlier damage has left no values to be read."""
    try:
        if path.suffix == ".safetensors":
            return damaged_tensors(content, rng)
        return damaged_json(path, content, rng)
    except (ValueError, struct.error, RecursionError):
        return damage(content, rng)


def damaged_json(path: Path, content: bytes, rng: random.Random) -> bytes:
    if path.suffix == ".json":
        return damage_json(content, rng)
    lines = content.split(b"\n")
    i = rng.randrange(max(1, len(lines) - 1))
    lines[i] = damage_json(lines[i], rng) if lines[i] else b"{"
    return b"\n".join(lines)


def damaged_tensors(content: bytes, rng: random.Random) -> bytes:
    """A safetensors file with another header."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.dumps(damage_value(json.loads(content[8 : 8 + length]), rng)).encode()
    size = rng.choice([len(header)] * 4 + [0, 1, len(content), 2**40, 2**63])
    return struct.pack("<Q", size) + header + content[8 + length :]


def swap(path: Path, rng: random.Random, files: list[Path], others: Path) -> None:
    """The content of another file of the run, or of the same file of another run."""
    strangers = sorted(others.glob(f"*/{path.name}"))
    source = rng.choice(strangers if strangers and rng.random() < 0.7 else files)
    content = source.read_bytes() if source.is_file() else b""
    path.write_bytes(content)


def put_in_place(path: Path, rng: random.Random) -> None:
    """Something that is not a regular file, or one without an end."""
    kind = rng.randrange(8)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to("/dev/zero")
    elif kind == 3:
        path.symlink_to(path.with_name("nowhere"))
    elif kind == 4:
        path.symlink_to(path)
    elif kind == 5:
        path.write_bytes(b"")
        path.chmod(0)
    elif kind == 6:
        with open(path, "wb") as file:
            file.truncate(1 << 36)  # takes no room on the disk
    else:
        path.symlink_to(rng.choice(["/dev/stdin", "/proc/self/mem", "/dev/full", "/dev/tty"]))
