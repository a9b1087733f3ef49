"""What a person sees of a call from Python: in a terminal and in a notebook the same as of the
command, elsewhere nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from unspool.training.progress import Printed, Silent, Watcher, reading

if TYPE_CHECKING:
    from rich.console import Console

Note = Callable[[str], None]
Progress = Callable[[str, float], None]


class Shown(NamedTuple):
    """Where messages, the progress of training and that of reading go."""

    note: Note
    watcher: Watcher
    progress: Progress | None


@contextmanager
def watching(
    quiet: bool,
    *,
    note: Note | None = None,
    watcher: Watcher | None = None,
    progress: Progress | None = None,
) -> Iterator[Shown]:
    """What was given; the rest on the screen, unless `quiet`."""
    console = None if quiet else screen()
    usual: Watcher = Silent() if console is None else Printed(console)
    bar_context = nullcontext(progress) if progress or console is None else reading(console)
    with bar_context as bar:
        yield Shown(note or usual.note, watcher or usual, bar)


def usual_note(quiet: bool = False) -> Note:
    """Where messages go that nobody has asked for."""
    console = None if quiet else screen()
    return (Silent() if console is None else Printed(console)).note


def screen() -> Console | None:
    """A terminal, or a notebook, which gets plain lines: its bars would need a further package."""
    from rich.console import Console

    if in_notebook():
        return Console(file=sys.stdout, highlight=False, force_jupyter=False, force_terminal=False)
    return Console(stderr=True, highlight=False) if sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Whether IPython runs here as the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
