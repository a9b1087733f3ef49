"""A page in the hand: of one subject and one text, to be shown in a notebook, saved or served."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from unspool.errors import DataError
from unspool.io.files import write_atomic
from unspool.page.saved import saved_page
from unspool.page.subject import Subject
from unspool.page.views import chosen_view

HEIGHT = 720  # pixels of a notebook's cell


class LookPage:
    """Page of a model reading a text.

    text   of a model of series a recording or an array, of sound also the name of a file or a pair
           of samples and their rate; or the number of an example; None: the first example
    view   the name of one, as in the address of the page; None: all that there are
    """

    def __init__(self, subject: Subject, text: Any = None, view: str | None = None) -> None:
        if view is not None:
            chosen_view(subject, view)
        if text is not None:
            field = subject.task.input_field
            named = field.form.named(text) if isinstance(text, str) else text
            if named is not None and subject.task.reads_tokens:
                text = field.form.to_json(named)
            elif named is not None:
                subject, text = subject.with_item(named), "1"
        if text is not None:
            subject.read(text)  # refuses an empty one, and any where there are no weights yet
        self.subject, self.text, self.view = subject, text, view

    def html(self) -> str:
        """The page as one file that works anywhere, offline."""
        return saved_page(self.subject, self.text, self.view)

    def save(self, path: str | Path) -> None:
        try:
            write_atomic(Path(path), self.html())
        except OSError as error:
            raise DataError(
                f"cannot write the page ({error.strerror})", where=path, remedy="name another file"
            ) from None

    def serve(
        self, *, port: int = 0, browser: bool = True, report: Callable[[str], None] = print
    ) -> None:
        """Serve the page on this machine until Ctrl-C, and open it in the browser."""
        from unspool.serve.page import PageServer

        with PageServer(self.subject, port) as server:
            address = server.address(view=self.view, text=self.text)
            report(address)
            if browser:
                webbrowser.open(address)
            server.serve_forever()

    def _repr_html_(self) -> str:
        # A frame of its own, which can reach neither the notebook nor the network.
        return (
            f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts"'
            f' title="unspool: {escape(self.subject.path.name)}" width="100%" height="{HEIGHT}"'
            ' style="border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Look {self.subject.path}: .save(path) or .serve()>"
