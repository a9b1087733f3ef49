"""Attack unspool: damaged data and run folders, flipped bits, kills, full disks, races, odd
numbers, abuse of the page's server.

    python bench/faults --minutes 10                       all parts, for ten minutes
    python bench/faults --only inputs --cases 20000        one part, so many cases
    python bench/faults --only inputs --data clips,songs --cases 500     of these formats alone
    python bench/faults --only inputs --case 1234 --seed 7 one case again, with what it printed

A failure is an exit code that is not documented, a traceback or a warning, an error of more than
one line, more than 10 s (of computing, or of waiting), more than 1.5 GB of memory, another answer
without a word, a run that is lost or mixed. Each is printed with the command that repeats it; the
exit code is 1 where there was one. Everything is written under a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import samples
from attack import Attack
from bombs import Bombs
from disks import Disks
from flips import Flips
from folders import Folders, Forged
from inputs import Inputs
from kills import Kills
from part import Part
from races import Races
from server import Server
from settings import Settings

PARTS: dict[str, type[Part]] = {
    kind.name: kind
    for kind in (Inputs, Bombs, Folders, Forged, Flips, Settings, Kills, Disks, Races, Server)
}


# A forked process has none of its parent's threads, so the parent may have none.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def main() -> int:
    options = parsed()
    os.environ.update(ONE_THREAD, NO_COLOR="1")
    memory = "/dev/shm"  # where flushing costs nothing
    where = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="unspool-faults-", dir=where) as folder:
        os.environ["UNSPOOL_CACHE"] = str(Path(folder) / "cache")
        names = options.only.split(",") if options.only else list(PARTS)
        runs = Path(options.runs).resolve() if options.runs else Path(folder) / "runs"
        parts = [PARTS[name](Path(folder), runs) for name in names]
        return Attack(parts, options).run()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", metavar="PARTS", help=f"some of {','.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="for all parts together")
    parser.add_argument("--cases", type=int, help="of each part")
    parser.add_argument("--short", action="store_true", help="the few cases that the tests run")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="this one alone, and show what it prints")
    parser.add_argument("--errors", action="store_true", help="print what was refused, too")
    parser.add_argument("--runs", metavar="DIR", help="train the runs there, or use them again")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", metavar="NAMES", help="inputs, folders: these formats alone")
    options = parser.parse_args()
    for name in options.only.split(",") if options.only else ():
        if name not in PARTS:
            parser.error(f"no part {name!r}; choose from {', '.join(PARTS)}")
    samples.wanted += options.data.split(",") if options.data else []
    for name in samples.wanted:
        if name not in (known := [*samples.FORMATS, *samples.SHELVES]):
            parser.error(f"no format {name!r}; choose from {', '.join(known)}")
    if not options.short and (options.case, options.minutes, options.cases) == (None, None, None):
        parser.error("give --minutes, --cases, --short or --case")
    return options


if __name__ == "__main__":
    sys.exit(main())
