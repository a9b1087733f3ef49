"""The command `unspool` and the list of its commands, each a function whose docstring is its help.

Heavy imports stay inside the functions, so that help answers at once.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand

from unspool import __version__
from unspool.cli.check import check
from unspool.cli.compare import compare
from unspool.cli.demo import demo
from unspool.cli.embed import embed
from unspool.cli.evaluate import evaluate
from unspool.cli.export import export
from unspool.cli.generate import generate
from unspool.cli.look import look
from unspool.cli.ngrams import ngrams
from unspool.cli.options import with_plugins
from unspool.cli.pack import pack
from unspool.cli.predict import predict
from unspool.cli.serve import serve
from unspool.cli.settings import settings
from unspool.cli.summary import summary
from unspool.cli.topics import topics
from unspool.cli.train import train
from unspool.cli.vectors import vectors_app


class GroupedCommand(TyperCommand):
    """Typer itself shows groups only in its rich help, which takes long to import."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if param.param_type_name == "argument" else "Options"
                name = getattr(param, "rich_help_panel", None) or kind
                sections.setdefault(name, []).append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(value: bool) -> None:
    if value:
        from importlib.metadata import version as installed

        from unspool.native import ABOUT, INSTRUCTIONS

        kernels = f"native kernels: {ABOUT}" if INSTRUCTIONS else f"no native kernels: {ABOUT}"
        typer.echo(f"unspool {__version__} (torch {installed('torch')}; {kernels})")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def unspool(
    context: typer.Context,
    _: Annotated[
        bool,
        Option("--version", callback=version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Files in, a trained sequence model out, and nothing about it hidden.

    A first hour:

    \b
      unspool demo                              an example; no data needed
      unspool check reviews.csv                 look at your data
      unspool train reviews.csv                 train; the model is a folder under runs/
      unspool predict runs/reviews-bilstm "a fine film"
      unspool COMMAND --help                    the options of a command

    Results go to stdout, everything else to stderr. Exit codes: 0 fine, 1 failed, 2 bad input or
    usage, 129 after a closed terminal, 130 after Ctrl-C,
    143 after SIGTERM.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


for command in (
    train, check, evaluate, predict, generate, summary, look, serve, export, pack, ngrams, compare,
    embed, topics, settings, demo,
):  # fmt: skip
    app.command(cls=GroupedCommand)(with_plugins(command))
app.add_typer(vectors_app, name="vectors")
