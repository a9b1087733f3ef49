"""`unspool export RUN --to web`: a trained run in, a folder of static files out that runs it in a
browser, by onnxruntime-web.

    index.html, *.js, *.css   the page and what it is made of: plain modules, no request elsewhere
    model.onnx, model.json    as of `--to onnx`
    check.json                values with the model's outputs, which the page compares
    package.json              names onnxruntime-web, for `npm install`; or
    runtime/                  its files, copied from a folder that has them

Any server of files will do.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from torch import nn

from unspool.errors import ConfigError, Option
from unspool.export.folder import new_folder, refuse_full
from unspool.export.onnx import Graphs, graphs_of
from unspool.io.files import write_atomic, write_json

WEB = Path(__file__).with_name("web")
LOOK = Path(__file__).parents[1] / "page" / "web"
SHARED = ("style.css", "dom.js")  # with the page of `unspool look`
RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
NPM = "./node_modules/onnxruntime-web/dist/"
READ = ("text", "pair", "words", "ngrams", "series")  # kinds of inputs that the page can make


class ExportedPage(NamedTuple):
    """A folder with a page; `runtime`: whether the files of onnxruntime-web are in it."""

    folder: Path
    size: int
    error: float
    runtime: bool

    def lines(self) -> list[str]:
        serve = f"python -m http.server --directory {self.folder} 8000"
        return [
            f"{self.folder}: a page with a model of {self.size / 1e6:.1f} MB; outputs differ by"
            f" {self.error:.1e} at most",
            f"next: {serve}"
            if self.runtime
            else f"next: npm install --prefix {self.folder}, then {serve}",
        ]

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "folder": str(self.folder)}


def export_web(
    task: Any, model: nn.Module, folder: Path, *, source: str, runtime: Path | None = None
) -> ExportedPage:
    """Write the page of a run into a new folder; `runtime`: a folder with onnxruntime-web."""
    refuse_full(folder)
    files = None if runtime is None else runtime_files(runtime)
    made = graphs_of(task, model.eval(), source)
    refuse_others(made)
    with new_folder(folder) as partial:
        size = made.write(partial)
        for path in (*WEB.glob("*.js"), *WEB.glob("*.css"), *(LOOK / name for name in SHARED)):
            shutil.copyfile(path, partial / path.name)
        page = Template((WEB / "index.html").read_text(encoding="utf-8"))
        write_atomic(partial / "index.html", page.substitute(name=escape(source)))
        if files is None:
            package = {"private": True, "dependencies": {"onnxruntime-web": "^1.20.0"}}
            write_json(partial / "package.json", package)
        for path in files or ():
            (partial / "runtime").mkdir(exist_ok=True)
            shutil.copyfile(path, partial / "runtime" / path.name)
        place = json.dumps(NPM if files is None else "./runtime/")
        write_atomic(partial / "runtime.js", f"export const RUNTIME = {place};\n")
    return ExportedPage(folder, size, made.error, files is not None)


def runtime_files(folder: Path) -> list[Path]:
    """The files of onnxruntime-web in a package's folder, or in its dist."""
    for place in (folder, folder / "dist", folder / "node_modules" / "onnxruntime-web" / "dist"):
        paths = [place / name for name in RUNTIME]
        if all(path.is_file() for path in paths):
            return paths
    raise ConfigError(
        f"onnxruntime-web is not there: no {RUNTIME[0]}",
        where=folder,
        remedy=("run `npm install onnxruntime-web` and name its folder with ", Option("runtime")),
    )


def refuse_others(made: Graphs) -> None:
    """Raise a ConfigError where the page cannot make the inputs of a model, or show its answers."""
    reads, remedy = made.manifest["input"], ("use ", Option(to="onnx"))
    if "steps" in made.manifest:
        raise ConfigError(
            "a page cannot run a model that writes token by token",
            got=f"task {made.manifest['task']}",
            remedy=remedy,
        )
    for part in reads.get("members", [reads]):
        tokenizer: Mapping[str, Any] = part.get("tokenizer", {})
        if part.get("step") is not None:
            raise ConfigError("a page reads no times of steps", got="irregular", remedy=remedy)
        if part["kind"] not in READ or tokenizer.get("kind") == "pretrained":
            pieces = "the tokenizer of a pretrained model" if tokenizer else part["kind"]
            raise ConfigError("a page cannot make the inputs", got=pieces, remedy=remedy)
