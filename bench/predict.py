"""How fast, and in how much memory, is a whole file predicted?

    python bench/predict.py [--rows 1000000] [--rounds 2] [--processes 2] [--kills 5] [--json FILE]

Short texts (4 to 20 words) through a bidirectional LSTM of 128 units, from a CSV file into another
one with the probabilities of both labels. Contestants, each in a process of its own, in turns:

    unspool     `unspool predict RUN --file new.csv --out out.csv`, with --processes 1 and N
    torch       polars reads the file in batches; words are looked up in a dict; rows are sorted by
                length in blocks of 4,096, packed, and read by nn.LSTM in batches of 256; polars
                writes the answers. The same sizes as the run, one process, all threads

Printed for each: rows a second by the clock, seconds of CPU, and the most memory of a process. With
--kills the command is killed so many times at random moments, and resumed: the file must be the
same to the byte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

WORDS, CLASSES = 3000, ("neg", "pos")
MARKS = {"pos": ("good", "fine", "lovely", "great"), "neg": ("bad", "dull", "poor", "awful")}
BLOCK, BATCH = 4096, 256


def write_texts(path: Path, rows: int, *, labels: bool, seed: int) -> None:
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(WORDS)]
    with open(path, "w") as file:
        file.write("text,label\n" if labels else "id,text\n")
        for number in range(rows):
            label = rng.choice(CLASSES)
            text = rng.choices(words, k=rng.randint(4, 20))
            text[rng.randrange(len(text))] = rng.choice(MARKS[label])
            line = " ".join(text)
            file.write(f"{line},{label}\n" if labels else f"{number},{line}\n")


def plain_loop(run: Path, new: Path, out: Path) -> None:
    """What somebody would write with torch and polars."""
    import polars as pl
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

    config = json.loads((run / "config.json").read_text())["config"]["model"]
    tokens = json.loads((run / "tokenizer.json").read_text())["vocab"]
    ids = {token: number for number, token in enumerate(tokens)}
    embedding = nn.Embedding(len(tokens), config["embedding"], padding_idx=0)
    lstm = nn.LSTM(config["embedding"], config["hidden"], batch_first=True, bidirectional=True)
    linear = nn.Linear(2 * config["hidden"], len(CLASSES))
    with torch.inference_mode(), open(out, "wb") as file:
        for block in pl.scan_csv(new).collect_batches(chunk_size=BLOCK, maintain_order=True):
            texts = block["text"].to_list()
            rows = [torch.tensor([ids.get(word, 1) for word in text.split()]) for text in texts]
            order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
            p = torch.empty(len(rows), len(CLASSES))
            for start in range(0, len(rows), BATCH):
                some = order[start : start + BATCH]
                batch = [rows[i] for i in some]
                lengths = torch.tensor([len(row) for row in batch])
                x = embedding(pad_sequence(batch, batch_first=True))
                packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
                h, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
                padding = torch.arange(h.shape[1]) >= lengths[:, None]
                h = h.masked_fill(padding[..., None], -torch.inf)
                p[some] = linear(h.amax(1)).softmax(1)
            best = p.argmax(1)
            block.with_columns(
                pl.Series("label", [CLASSES[i] for i in best]),
                pl.Series("probability", p.amax(1).numpy()),
                *(pl.Series(f"p({name})", p[:, i].numpy()) for i, name in enumerate(CLASSES)),
            ).write_csv(file, include_header=file.tell() == 0, float_precision=6)


def timed(words: Sequence[str | Path], rows: int) -> dict[str, float]:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([*map(str, words)], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words[1:4]} ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.perf_counter() - began
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"rows_per_second": rows / seconds, "cpu": cpu, "memory": usage.ru_maxrss / 1024}


def predicting(run: Path, new: Path, out: Path, *more: str) -> list[str | Path]:
    command = ["predict", run, "--file", new, "--out", out, *more]
    return [sys.executable, "-m", "unspool", *command]


def kill_and_resume(run: Path, new: Path, folder: Path, kills: int, seconds: float) -> None:
    """Compare a file that was interrupted with the one that was not."""
    out, rng = folder / "killed.csv", random.Random(3)
    words = [*map(str, predicting(run, new, out, "--resume"))]
    for kill in range(kills):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        time.sleep(3 + rng.random() * seconds / kills)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = (folder / ".killed.csv.part").exists()
        print(f"killed {kill + 1}: {'unfinished' if done else 'finished'}")
    subprocess.run(words, stderr=subprocess.DEVNULL, check=True)
    same = out.read_bytes() == (folder / "out-1.csv").read_bytes()
    print(f"killed {kills} times and resumed: {'the same bytes' if same else 'OTHER BYTES'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plain", nargs=3, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        plain_loop(*options.plain)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        train, new, run = folder / "train.csv", folder / "new.csv", folder / "run"
        write_texts(train, 3000, labels=True, seed=1)
        write_texts(new, options.rows, labels=False, seed=2)
        small = ["--model", "bilstm", "--set", "epochs=3", "--set", "hidden=128"]
        training = [sys.executable, "-m", "unspool", "train", str(train), "--out", str(run), *small]
        subprocess.run(training, check=True, capture_output=True)
        many = str(options.processes)
        contestants = {
            "unspool": predicting(run, new, folder / "out-1.csv"),
            f"unspool --processes {many}": predicting(
                run, new, folder / "out-n.csv", "--processes", many
            ),
            "torch and polars": [
                sys.executable, __file__, "--plain", run, new, folder / "plain.csv",
            ],
        }  # fmt: skip
        figures: dict[str, list[dict[str, float]]] = {name: [] for name in contestants}
        for _ in range(options.rounds):
            for name, words in contestants.items():
                figures[name].append(timed(words, options.rows))
        table = {
            name: {figure: median(each[figure] for each in rounds) for figure in rounds[0]}
            for name, rounds in figures.items()
        }
        base = table["torch and polars"]
        print(f"{'':24} rows/s   ratio    CPU s   ratio   MB")
        for name, row in table.items():
            speed, cpu = row["rows_per_second"], row["cpu"]
            print(
                f"{name:24} {speed:6,.0f} {speed / base['rows_per_second']:7.2f} {cpu:8.1f}"
                f" {base['cpu'] / cpu:7.2f} {row['memory']:6,.0f}"
            )
        if options.kills:
            seconds = options.rows / table["unspool"]["rows_per_second"]
            kill_and_resume(run, new, folder, options.kills, seconds)
        if options.json:
            options.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
