"""Probabilities before and after the temperature that is fitted on a validation part.

    python bench/calibration.py                   list the rows
    python bench/calibration.py sst5 --seeds 5    measure one with seeds 1 to 5
    python bench/calibration.py --table           print the stored figures

Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any

from rows import DATA, Row, calibrated, main, measured, size, train


def sst5() -> dict[str, Any]:
    folder = DATA / "sentiment/sent-conv"
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            folder / "stsa.fine.train", scratch, "run", task="classify", model="cnn", epochs=8,
            precision="auto", valid=folder / "stsa.fine.dev", test=folder / "stsa.fine.test",
        )  # fmt: skip
        value = {"accuracy": run.report.metrics["accuracy"], **calibrated(run.report)}
        return measured("cnn", value, size(run), started)


ROWS = {"sst5": Row("SST-5, sentences only; the temperature by dev, figures on test", sst5)}

if __name__ == "__main__":
    sys.exit(main(ROWS, "calibration.py", __doc__, prefix="calibration-"))
