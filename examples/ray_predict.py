"""Predict a table on a Ray cluster.

    pip install 'ray[data]'
    python examples/ray_predict.py RUN IN.parquet OUT [--column text] [--actors 1] [--batch 1024]

Each actor loads the run once and takes one CPU; at least one CPU must be left to read and write.
IN is a Parquet or CSV file or a folder of them, OUT a folder of Parquet files. On a cluster RUN, IN
and OUT are on storage that all nodes see, or RUN is a pack (`unspool pack`) that Ray ships with the
job (`runtime_env={"working_dir": ...}`).
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import ray


class Predictor:
    """A model in an actor: columns of a block in, the same with answers out."""

    def __init__(self, run: str, column: str) -> None:
        import torch

        import unspool

        torch.set_num_threads(1)  # an actor reserves one CPU
        self.run, self.column = unspool.load(run), column

    def __call__(self, block: dict[str, np.ndarray]) -> dict[str, Any]:
        answers = self.run.predict(list(block[self.column]))
        header, rows = answers[0].header(), [a.rows(n)[0] for n, a in enumerate(answers, 1)]
        new = {name: list(cells) for name, cells in zip(header, zip(*rows)) if name not in block}
        return block | new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run")
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--column", default="text")
    parser.add_argument("--actors", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    read = (
        ray.data.read_csv if options.data.endswith((".csv", ".csv.gz")) else ray.data.read_parquet
    )
    read(options.data).map_batches(
        Predictor,
        fn_constructor_kwargs={"run": options.run, "column": options.column},
        batch_size=options.batch,
        compute=ray.data.ActorPoolStrategy(size=options.actors),
        num_cpus=1,
    ).write_parquet(options.out)


if __name__ == "__main__":
    main()
