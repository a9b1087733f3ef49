"""Pages of the site that are made from the package: every command, every setting, public names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File, Files

import unspool
from unspool import nn
from unspool.config import settings

OUTSIDE = re.compile(r"\]\(\.\./((?:examples|CONTRIBUTING|CHANGELOG)[^)]*)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the reference."""
    pages = {"commands": commands(), "settings": settings_page(), "python": python(),
             "layers": layers()}  # fmt: skip
    for name, lines in pages.items():
        path = f"reference/{name}.md"
        files.append(File.generated(config, path, content="\n".join(lines) + "\n"))
    return files


def on_page_markdown(markdown: str, **more: Any) -> str:
    """Files of the repository that are no page of the site are named, not linked."""
    return OUTSIDE.sub("]", markdown).replace("[`", "`").replace("`]", "`")


def on_post_page(output: str, **more: Any) -> str:
    """A page loads nothing from elsewhere; search needs a web server in return."""
    return re.sub(r'<script src="https://unpkg\.com/[^"]*"></script>', "", output)


def commands() -> Iterator[str]:
    """Every command with its help and its options."""
    import typer

    from unspool.cli.app import app

    yield "# Commands\n"
    yield "Every command takes `--help`. Results go to stdout, everything else to stderr.\n"
    for name, command in typer.main.get_command(app).commands.items():
        inner = getattr(command, "commands", None)
        for title, each in [(name, command)] if inner is None else [
            (f"{name} {sub}", one) for sub, one in inner.items()
        ]:  # fmt: skip
            yield f"## {title}\n"
            yield help_of(each.help or "")
            yield "\n| option | |\n|---|---|"
            for parameter in each.params:
                names = ", ".join(
                    f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts)
                )
                yield f"| {names} | {cell(getattr(parameter, 'help', None) or '')} |"
            yield ""


def help_of(text: str) -> str:
    """The help of a command as Markdown; its examples are code."""
    body, _, examples = text.replace("\b", "").partition("Examples:")
    lines = [line.strip() for line in examples.strip().splitlines() if line.strip()]
    code = ["```", *lines, "```"] if lines else []
    return "\n".join([re.sub(r"\n  +", "\n\n    ", body.strip()), "", *code])


def settings_page() -> Iterator[str]:
    """Every setting by section."""
    yield "# Settings\n"
    yield "`unspool settings --task T --model M` lists those that such a run reads.\n"
    section = ""
    for name, field in settings():
        if name.partition(".")[0] != section:
            section = name.partition(".")[0]
            yield f"\n## {section}\n\n| setting | default | |\n|---|---|---|"
        default = field.get_default(call_default_factory=True)
        short = name.partition(".")[2] or name
        yield f"| `{short}` | `{default}` | {cell(field.description or '')} |"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def python() -> Iterator[str]:
    yield "# Python\n"
    for name in unspool.__all__:
        if name != "__version__":
            yield f"::: {unspool._HOME[name]}.{name}\n"
    yield "## scikit-learn\n"
    for name in ("Classifier", "Regressor", "Tagger", "Forecaster"):
        yield f"::: unspool.sklearn.Sequence{name}\n"


def layers() -> Iterator[str]:
    """Every public name of `unspool.nn`."""
    yield "# Layers\n"
    yield "`from unspool.nn import ...`, for any PyTorch program.\n"
    homes = {name: module for module, names in nn._HOMES.items() for name in names.split()}
    for name in sorted(nn.__all__):
        yield f"::: unspool.nn{homes.get(name, '.taps')}.{name}\n"
