"""`unspool export`: a trained model as files that other programs run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import AsJson


class Target(StrEnum):
    onnx = "onnx"
    web = "web"
    transformers = "transformers"


def export(
    run: Annotated[Path, Argument(metavar="RUN", help="The folder of a trained run.")],
    to: Annotated[Target, Option("--to", help="The format.")] = Target.onnx,
    out: Annotated[
        Path | None, Option(metavar="DIR", help="The new folder; by default RUN-FORMAT.")
    ] = None,
    int8: Annotated[
        str | None,
        Option(
            "--int8",
            metavar="FILE",
            help="Weights as 8-bit integers; what that costs is measured on this file with labels.",
        ),
    ] = None,
    runtime: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="web: a folder with onnxruntime-web, whose files are copied; otherwise"
            " `npm install` fetches them.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model as files that other programs run.

    onnx: model.onnx, for any batch size and length, and predict.py, which needs numpy and
    onnxruntime alone. The graph is compared with the model before anything is written.

    web: one folder of static files that runs the model in a browser, by onnxruntime-web.

    transformers: a folder that AutoModel...from_pretrained of Hugging Face loads, of a Transformer
    shaped like BERT or GPT-2.

    Examples:

    \b
      unspool export runs/reviews-bilstm --to onnx
      python runs/reviews-bilstm-onnx/predict.py "a fine film"
      unspool export runs/reviews-bilstm --int8 test.csv --out small
      unspool export runs/reviews-bilstm --to web
    """
    show.result(
        show.loaded(run).export(out, to=to.value, int8=int8, runtime=runtime), as_json=as_json
    )
