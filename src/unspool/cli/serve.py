"""`unspool serve`: run folders as a service over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def serve(
    runs: Annotated[
        list[str], Argument(metavar="RUN...", help="Folders of trained runs, or NAME=RUN.")
    ],
    host: Annotated[str, Option("--host", metavar="ADDRESS", help="Listen here.")] = "127.0.0.1",
    port: Annotated[
        int, Option("--port", metavar="N", help="Port; 0 takes a free one.", min=0, max=65535)
    ] = 8000,
    uds: Annotated[
        Path | None, Option("--uds", metavar="PATH", help="Listen on a Unix socket instead.")
    ] = None,
    admin_port: Annotated[
        int | None,
        Option("--admin-port", metavar="N", help="Loopback port for POST /reload.", max=65535),
    ] = None,
    token_file: Annotated[
        Path | None,
        Option(
            "--token-file",
            metavar="FILE",
            help="Bearer token of who may ask.  [default: the environment variable UNSPOOL_TOKEN]",
        ),
    ] = None,
    insecure: Annotated[
        bool, Option("--insecure", help="Listen beyond this machine without a token.")
    ] = False,
    certificate: Annotated[
        Path | None, Option("--certificate", metavar="FILE", help="TLS certificate, as PEM.")
    ] = None,
    key: Annotated[Path | None, Option("--key", metavar="FILE", help="Its key.")] = None,
    processes: Annotated[
        int, Option("--processes", metavar="N", help="Processes of each model.", min=1, max=64)
    ] = 1,
    threads: Annotated[
        int,
        Option(
            "--threads",
            metavar="N",
            help="Threads of each process of a model.  [default: OMP_NUM_THREADS, or the cores"
            " divided among them]",
            min=0,
            max=1024,
        ),
    ] = 0,
    device: Annotated[
        str, Option("--device", metavar="NAME", help="cpu, cuda, mps or auto.")
    ] = "cpu",
    precision: Annotated[
        str, Option("--precision", metavar="NAME", help="Of predictions: fp32, bf16 or int8.")
    ] = "fp32",
    validation: Annotated[
        Path | None,
        Option(
            "--validation",
            metavar="FILE",
            help="Rows with answers, by which the accuracy of another precision is measured.",
        ),
    ] = None,
    max_loss: Annotated[
        float,
        Option("--max-loss", metavar="X", help="Refuse a precision that loses more of the metric."),
    ] = 0.005,
    limits: Annotated[
        list[str] | None,
        Option("--limit", metavar="NAME=N", help="A limit of docs/serve.md; may be repeated."),
    ] = None,
    look: Annotated[
        bool, Option("--look", help="Also serve the page of `unspool look`, under /look.")
    ] = False,
    log_texts: Annotated[
        bool, Option("--log-texts", help="Faults in the log may show what was asked.")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No line for each request.")] = False,
) -> None:
    """Serve trained models over HTTP.

    Routes: predictions, explanations, streams, OpenAI's completions and embeddings, the Open
    Inference Protocol, figures for Prometheus; a page to try the models by hand at /, and all
    schemas at /docs. Only this machine can connect unless --host says otherwise.

    SIGTERM and Ctrl-C answer what was accepted and end; SIGHUP reloads the folders, and keeps the
    old model where the new one is bad.

    Examples:

    \b
      unspool serve runs/reviews-bilstm
      curl localhost:8000/v1/models/reviews-bilstm/predict --json '{"items": ["a fine film"]}'
      unspool serve sentiment=runs/reviews-bilstm runs/book-lstm --port 9000 --processes 2
      UNSPOOL_TOKEN=$(openssl rand -hex 32) unspool serve runs/reviews-bilstm --host 0.0.0.0
      unspool serve runs/reviews-bilstm --limit items=64 --limit deadline=5
    """
    from unspool.cli import show
    from unspool.serve.settings import ServeSettings, named_models, parse_limits, read_token

    settings = ServeSettings(
        models=named_models(runs),
        host=host,
        port=port,
        uds=None if uds is None else str(uds),
        admin_port=admin_port,
        processes=processes,
        threads=threads,
        device=device,
        precision=precision,
        validation=None if validation is None else str(validation),
        max_loss=max_loss,
        token=read_token(token_file),
        certificate=None if certificate is None else str(certificate),
        key=None if key is None else str(key),
        insecure=insecure,
        texts=log_texts,
        look=look,
        limits=parse_limits(limits or []),
    )
    from unspool.serve.server import serve as start

    start(settings, quiet=quiet, note=show.note)
