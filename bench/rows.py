"""What the scripts of learning results have in common: rows that are measured one by one, their
figures kept in bench/results, and tables made of these.

In: a dictionary of rows. Out: the command line of a script.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("UNSPOOL_DATA", ROOT.parent / "shared" / "data"))
STORE = ROOT / "bench" / "results"
SEED = "UNSPOOL_BENCH_SEED"  # of `train`, also in other processes


class Row(NamedTuple):
    """One measurement: what it is, and how it is made."""

    about: str
    measure: Callable[[], dict[str, Any]]


def train(data: Path | str | None, scratch: str, name: str, **settings: Any) -> Any:
    from rich.console import Console

    import unspool
    from unspool.tasks import TASKS
    from unspool.training.progress import Printed

    seed = int(os.environ.get(SEED, "1"))
    task = settings.get("task", "classify")
    fresh: dict[str, Any] = {} if settings.get("resume") else {"seed": seed}
    if fresh and "baseline" in {name.partition(".")[2] for name in TASKS[task].settings}:
        fresh["baseline"] = False
    settings = {"precision": "fp32", **fresh, **settings}
    watcher = Printed(Console(stderr=True))
    return unspool.train(data, out=Path(scratch) / name, watcher=watcher, **settings)


def size(run: Any) -> int:
    return sum(p.numel() for p in run.model.parameters())


def with_interval(metric: str, report: Any) -> str:
    low, high = report.interval
    return f"{metric} {report.metrics[metric]:.4f} (95 % interval {low:.4f} to {high:.4f})"


def measured(
    model: str, value: dict[str, float], parameters: int, started: float
) -> dict[str, Any]:
    """A measurement that began at a moment of `time.perf_counter`, with several figures."""
    return {
        "model": model,
        "value": value,
        "figure": ", ".join(f"{name} {own:.4f}" for name, own in value.items()),
        "parameters": parameters,
        "seconds": time.perf_counter() - started,
    }


def calibrated(report: Any) -> dict[str, float]:
    """The figures of probabilities before and after the temperature."""
    own = report.calibration
    found = {"temperature": own.temperature}
    for when, quality in (("before", own.before), ("after", own.after)):
        found |= {f"loss {when}": quality.nll, f"Brier {when}": quality.brier}
        found[f"ECE {when}"] = quality.ece
    return found


def stored(rows: Mapping[str, Row], prefix: str) -> dict[str, dict[str, Any]]:
    """The figures of the rows that were measured."""
    paths = {name: STORE / f"{prefix}{name}.json" for name in rows}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def table(rows: Mapping[str, Row], script: str, *, prefix: str = "") -> list[str]:
    """The stored figures as Markdown; several models of one row get a table of their own."""
    found = stored(rows, prefix)
    lines = [
        "| command | what | model | figure | parameters | minutes |",
        "|---|---|---|---|---|---|",
    ]
    for name, own in found.items():
        if "figure" in own:
            command = f"python bench/{script} {name}"
            if "seeds" in own:
                command += f" --seeds {len(next(iter(own['seeds'].values())))}"
            lines.append(
                f"| `{command}` | {rows[name].about} | {own['model']} "
                f"| {own['figure']} | {own['parameters']:,} | {own['seconds'] / 60:.1f} |"
            )
    for name, own in found.items():
        if "rows" in own:
            minutes = f"{own['seconds'] / 60:.0f} minutes"
            heading = f"**{rows[name].about}** `python bench/{script} {name}` ({minutes})"
            lines += ["", heading, "", *models_table(own["rows"])]
    return lines


def models_table(models: list[dict[str, Any]]) -> list[str]:
    """The models of `unspool.compare`, best first."""
    metric = models[0]["metric"]
    models.sort(key=lambda r: -r["value"] if metric == "accuracy" else r["value"])
    return [
        f"| model | {metric} | 95 % interval | parameters | seconds a run | tokens/s |",
        "|---|---|---|---|---|---|",
        *(
            f"| {r['model']} | {r['value']:.4f} | {r['low']:.4f} to {r['high']:.4f} "
            f"| {r['parameters']:,} | {r['seconds']:.0f} | {r['tokens_per_second']:,.0f} |"
            for r in models
        ),
    ]


def over_seeds(row: Row, seeds: int) -> Iterator[dict[str, Any]]:
    """The measurement after each seed."""
    runs = []
    for seed in range(1, seeds + 1):
        os.environ[SEED] = str(seed)
        runs.append(row.measure())
        yield together(runs)


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One measurement of several seeds: the mean and standard deviation of each value."""
    if len(runs) == 1:
        return runs[0]
    values = {name: [run["value"][name] for run in runs] for name in runs[0]["value"]}
    figures = (f"{n} {mean(own):.4f} ± {stdev(own):.4f}" for n, own in values.items())
    return {
        **runs[0],
        "figure": f"{', '.join(figures)} (mean and standard deviation of {len(runs)} seeds)",
        "seeds": values,
        "seconds": sum(run["seconds"] for run in runs),
    }


def main(rows: Mapping[str, Row], script: str, about: str | None, *, prefix: str = "") -> int:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("row", nargs="?", choices=rows)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--seeds", type=int, default=1, help="runs of the row, with seeds 1 to N")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(rows, script, prefix=prefix)))
    elif options.row is None:
        for name, row in rows.items():
            print(f"{name:<22} {row.about}")
    elif not DATA.exists():
        print(f"skipped: no development data at {DATA}", file=sys.stderr)
    else:
        STORE.mkdir(exist_ok=True)
        path = STORE / f"{prefix}{options.row}.json"
        for found in over_seeds(rows[options.row], options.seeds):
            path.write_text(json.dumps(found, indent=1) + "\n")
            print(json.dumps(found, indent=1), flush=True)
    return 0
