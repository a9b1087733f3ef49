"""How long does `unspool predict RUN TEXT` take in a fresh process, next to `import torch` alone?

    python bench/startup.py [--rounds 7] [--json FILE]

A small BiLSTM is trained first. Then, in turns: a process that imports torch, one that answers a
text, and one that shows the help. Printed are the medians of the seconds, those of the processor
(of the process and its threads) beside them, and their ratios to `import torch`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from timing import parser, set_up, write_json

ROWS = [("good", "a fine film , warm and funny"), ("bad", "what a dull mess of a film")] * 40

# As users have it: what has been compiled once is kept.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def cost(command: list[str]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    spent, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, used


def main() -> None:
    options = parser(__doc__, rounds=7).parse_args()
    machine = set_up(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "reviews.csv"
        lines = [f"{label},{text} {i}\n" for i, (label, text) in enumerate(ROWS)]
        table.write_text("label,text\n" + "".join(lines).replace(" ,", ""), encoding="utf-8")
        unspool = [sys.executable, "-m", "unspool"]
        train = [*unspool, "train", str(table), "--out", str(folder / "run"), "--set", "epochs=1"]
        subprocess.run(train, capture_output=True, check=True, env=ENVIRONMENT)
        commands = {
            "import torch": [sys.executable, "-c", "import torch"],
            "unspool predict": [*unspool, "predict", str(folder / "run"), "a fine film"],
            "unspool --help": [*unspool, "--help"],
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for turn in range(options.rounds + 1):
            for what, command in commands.items():
                spent = cost(command)
                if turn:
                    found[what].append(spent)
    middle = {what: [median(column) for column in zip(*rows)] for what, rows in found.items()}
    base = middle["import torch"]
    rows = []
    print(f"{'':18}{'s':>8}{'ratio':>8}{'cpu s':>8}{'ratio':>8}")
    for what, (clock, cpu) in middle.items():
        ratios = clock / base[0], cpu / base[1]
        print(f"{what:18}{clock:8.3f}{ratios[0]:8.2f}{cpu:8.3f}{ratios[1]:8.2f}")
        rows.append({"name": what, "s": clock, "cpu_s": cpu, "ratio": ratios[0]})
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
