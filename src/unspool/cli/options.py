"""The arguments and options that several commands share, each with its help text."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

from typer import Argument, Option

if TYPE_CHECKING:
    from unspool.api.run import Run as LoadedRun
    from unspool.errors import ConfigError
    from unspool.tasks import Task as AnyTask

Plugins = Annotated[
    list[str] | None,
    Option(
        "--plugin",
        metavar="MODULE",
        help="Import a Python module of yours first, by its name or as a .py file, such as one that"
        " adds a cell; may be repeated. It is code: name what you trust.",
    ),
]


PLUGINS: list[str] = []  # of the command that runs, for further processes


def with_plugins(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the option --plugin."""

    @functools.wraps(command)
    def call(*, plugin: Plugins = None, **options: Any) -> Any:
        for name in plugin or ():
            load_plugin(name)
        PLUGINS[:] = plugin or ()
        return command(**options)

    hints = {**get_type_hints(command, include_extras=True), "plugin": Plugins}
    signature = inspect.signature(command)
    parameter = inspect.Parameter("plugin", inspect.Parameter.KEYWORD_ONLY, default=None)
    every = [each.replace(annotation=hints[each.name]) for each in signature.parameters.values()]
    every.append(parameter.replace(annotation=Plugins))
    call.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
    call.__annotations__ = hints
    return call


def load_plugin(name: str) -> Any:
    """Import a module by its name, also from the working folder, or from a .py file."""
    from unspool.errors import ConfigError

    path = Path(name)
    try:
        if path.suffix == ".py":
            if not path.is_file():
                raise ConfigError("no such plugin file", where=name, remedy="check the path")
            return load_file(path)
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        return importlib.import_module(name)
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        if error.name not in (name, name.partition(".")[0]):
            raise broken(name, error) from None
        raise ConfigError(
            "no such module",
            where=f"--plugin {name}",
            remedy="give the name of one that can be imported here, or the path of a .py file",
        ) from None
    except Exception as error:
        raise broken(name, error) from None


def load_file(path: Path) -> Any:
    """Import a file once, under the name that it has."""
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def broken(name: str, error: Exception) -> Exception:
    from unspool.errors import ConfigError

    return ConfigError(
        f"cannot be imported ({type(error).__name__}: {error})",
        where=f"--plugin {name}",
        remedy="correct the module",
    )


DATA_HELP = (
    "A table: CSV, TSV, JSON, JSON lines, Parquet, Arrow or Excel; `label text` or fastText lines,"
    " one document a line, or one long text; CoNLL columns, CoNLL-U or JSON lines of tagged words;"
    " any of them as .gz, .bz2, .xz or .zip; two files of pairs, or of texts and labels, as"
    " train.en,train.de; several tables with the same columns as a.csv,b.csv; a folder of"
    " LABEL.txt files, or of a folder for each label; series as tables of numbers, .ts, .npy or"
    " .npz files, or a folder of such recordings; sound as a folder of .wav files (.flac, .ogg and"
    " .mp3 with the extra `audio`), or a table with a column of their names; strokes of a pen as"
    " JSON lines, .npz of sketch-rnn, .inkml or .unp; music as MIDI (.mid), a folder of such files,"
    " .json of lists of pitches or .mat of piano rolls; - for standard input."
)

Data = Annotated[str, Argument(metavar="DATA", help=DATA_HELP)]
Files = Annotated[list[str], Argument(metavar="DATA...", help=DATA_HELP)]


# Settings of reading that may differ from file to file.
READ_ANEW = (
    "bad_files", "date_format", "decimal", "encoding", "format", "header", "id", "label_separator",
    "missing", "pattern", "sheet", "sort", "split_column", "stroke_layout", "time", "unseen",
)  # fmt: skip


def one_path(files: list[str] | None) -> str | None:
    """Several files as one path, a.csv,b.csv."""
    return ",".join(files) if files else None


Run = Annotated[Path, Argument(metavar="RUN", help="The folder of a trained run.")]
Task = Annotated[
    str | None,
    Option(
        "--task",
        "-t",
        metavar="TASK",
        help="classify (a label for each text, or several), regress (numbers for each text), tag (a"
        " tag for each word), generate (a language model), translate (a text for each text),"
        " summarize (a shorter one), transcribe (a text for each recording or drawing), caption (a"
        " text that describes an image or a clip), forecast (the next steps of series), handwrite"
        " (the next points of a pen, or a text written by hand), compose (what follows in a piece"
        " of music),"
        " pretrain (hidden tokens, no labels) or elmo (contextual vectors, no labels)."
        "  [default: what the data suggest]",
    ),
]
Model = Annotated[
    str | None,
    Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A cell: elman, irnn, lstm, peephole, coupled, gru, mingru or minlstm; with `bi`"
        " before it for both directions: bilstm, bigru, ... Or cnn or transformer; for translate"
        " also seq2seq, bahdanau or luong; for caption xu or vinyals; for classify and regress also"
        " linear, a baseline of n-grams, or auto, the best of several.  [default: bilstm for"
        " classify, regress and tag,"
        " lstm for generate, transformer for translate and pretrain]",
    ),
]
Set = Annotated[
    list[str] | None,
    Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="A setting, such as epochs=5; may be repeated. `unspool settings --task TASK --model"
        " MODEL` lists those that a run reads; any other is refused.",
    ),
]
ConfigFile = Annotated[
    str | None,
    Option(
        "--config",
        "-c",
        metavar="F.toml",
        help="Settings from a TOML file: lines such as epochs = 5. --set overrides it.",
    ),
]
Valid = Annotated[
    str | None,
    Option(
        "--valid",
        metavar="FILE",
        help="Validation data.  [default: a tenth of DATA, or --set valid_share=]",
    ),
]
Test = Annotated[
    str | None,
    Option(
        "--test",
        metavar="FILE",
        help="Test data, used once, at the end.  [default: none, or --set test_share=]",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]


def readable(text: str, what: str) -> str:
    """The text of an argument; a ConfigError where its bytes were none in the shell's encoding."""
    from unspool.errors import ConfigError

    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"{what} is not valid text in the encoding of this shell",
            got=text.encode("utf-8", "replace").decode(),
            remedy="put it into a file and name the --encoding",
        ) from None
    return text


Chosen = Mapping[str, Any]  # what was given of a group of options
NONE: Chosen = MappingProxyType({})


def collecting(**groups: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command that has the options of each group in the place of the parameter of that name, and
    is given a dict of those that were set. Several columns become one string with commas."""
    home = {name: group for group, members in groups.items() for name in members}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(**options: Any) -> Any:
            values: dict[str, Any] = {group: {} for group in groups}
            for name, value in options.items():
                if name not in home:
                    values[name] = value
                elif value not in (default(groups[home[name]][name]), []):
                    values[home[name]][name] = ",".join(value) if isinstance(value, list) else value
            return command(**values)

        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for each in inspect.signature(command).parameters.values():
            for name, option in groups.get(each.name, {each.name: hints[each.name]}).items():
                start = default(option) if name in home else each.default
                parameters.append(each.replace(name=name, annotation=option, default=start))
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in parameters}
        return call

    return decorate


def default(option: Any) -> bool | None:
    """The default of an option of a group: a switch is off, everything else not given."""
    return False if get_args(option)[0] is bool else None


def assignments(pairs: list[str] | None, reading: Chosen = NONE) -> dict[str, Any]:
    """The settings of `--set` and of the options of reading."""
    from unspool.config.resolve import parse_assignments

    data = {f"data.{name}": value for name, value in reading.items()}
    return {**data, **parse_assignments(pairs or [])}


def reading_settings(pairs: list[str] | None, reading: Chosen) -> dict[str, Any]:
    """How data are read for a trained run: the options, and `--set` of what it leaves open."""
    from unspool.config.resolve import parse_assignments
    from unspool.errors import choose

    settings = parse_assignments(pairs or [])
    named = {name.removeprefix("data."): value for name, value in settings.items()}
    for name in named:
        choose("setting of reading", name, READ_ANEW, where="--set")
    return {**reading, **named}


def task_options(run: LoadedRun, chosen: Chosen) -> Any:
    """The options of the task with the values that were chosen; None where none were. Those of
    other tasks are refused."""
    from unspool.cli import show

    if "lm" in chosen:
        chosen = {**chosen, "lm": show.loaded(chosen["lm"])}
    for name in chosen:
        if name not in option_names(run.task.options):
            raise unsupported(run, name, name)
    return run.task.options(**chosen) if chosen and run.task.options is not None else None


def option_names(kind: type | None) -> set[str]:
    """The fields of a class of options."""
    from dataclasses import fields

    return set() if kind is None else {field.name for field in fields(kind)}


def unsupported(run: LoadedRun, flag: str, option: str) -> ConfigError:
    """The error of a flag that stands for an option which the task of a run does not have."""
    from unspool.tasks import TASKS

    able = [task for task in TASKS.values() if option in option_names(task.options)]
    return meant_for(run, flag, able)


def meant_for(run: LoadedRun, flag: str, able: Sequence[type[AnyTask]]) -> ConfigError:
    """The error of a flag that is for other tasks."""
    from unspool.errors import ConfigError

    answers = list(dict.fromkeys(task.answer.plural for task in able if task.answer is not None))
    whose = " and ".join([", ".join(answers[:-1]), answers[-1]] if answers[1:] else answers)
    return ConfigError(
        f"--{flag.replace('_', '-')} is for {whose}",
        where=run.path,
        got=f"a {run.task.name} model",
        remedy="leave it out",
    )
