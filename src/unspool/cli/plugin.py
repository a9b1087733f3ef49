"""`--plugin MODULE`, of every command: a module of the user's is imported before anything else.

It may add a cell to `unspool.nn.cells.CELLS`. Only the command line names such a module; a run
folder that needs one says so, and nothing is imported because a file names it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from typer import Option

Plugins = Annotated[
    list[str] | None,
    Option(
        "--plugin",
        metavar="MODULE",
        help="Import a Python module of yours first, by its name or as a .py file, such as one that"
        " adds a cell; may be repeated. It is code: name what you trust.",
    ),
]


def with_plugins(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the option --plugin."""

    @functools.wraps(command)
    def call(*, plugin: Plugins = None, **options: Any) -> Any:
        for name in plugin or ():
            load_plugin(name)
        return command(**options)

    hints = {**get_type_hints(command, include_extras=True), "plugin": Plugins}
    signature = inspect.signature(command)
    own = inspect.Parameter("plugin", inspect.Parameter.KEYWORD_ONLY, default=None)
    every = [each.replace(annotation=hints[each.name]) for each in signature.parameters.values()]
    every.append(own.replace(annotation=Plugins))
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
        remedy="mend the module",
    )
