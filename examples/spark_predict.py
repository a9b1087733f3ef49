"""Predict a table on a Spark cluster.

    pip install pyspark pandas pyarrow
    spark-submit examples/spark_predict.py RUN IN.parquet OUT [--column text]

A pandas UDF reads the batches of each partition; the iterator form loads the run once a task, not
once a batch. IN is a Parquet or CSV file or a folder of them, OUT a folder of Parquet files. RUN is
on storage that all workers see; or ship a pack: `--files model.unspool`, and give its name as RUN.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

import pandas as pd
from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run")
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--column", default="text")
    options = parser.parse_args()
    spark = SparkSession.builder.appName("unspool predict").getOrCreate()
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "4096")
    name = options.run

    @pandas_udf("label string, probability double")
    def answers(batches: Iterator[pd.Series]) -> Iterator[pd.DataFrame]:
        import torch

        import unspool

        torch.set_num_threads(1)  # a task has one core
        run = unspool.load(name if os.path.exists(name) else SparkFiles.get(name))
        for texts in batches:
            predictions = run.predict(texts)
            yield pd.DataFrame(
                {
                    "label": [str(a.label) for a in predictions],
                    "probability": [a.probability for a in predictions],
                }
            )

    read = spark.read.option("header", True).csv if ".csv" in options.data else spark.read.parquet
    table = read(options.data)
    answered = table.withColumn("answer", answers(table[options.column]))
    answered.select(*table.columns, "answer.*").write.mode("errorifexists").parquet(options.out)
    spark.stop()


if __name__ == "__main__":
    main()
