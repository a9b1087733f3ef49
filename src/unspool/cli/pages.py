"""The page of a run from the command line: served on this machine, or saved as one file."""

from __future__ import annotations

from pathlib import Path

from unspool.cli import show


def open_page(
    path: Path,
    text: str | None,
    *,
    view: str | None,
    html: Path | None,
    data: str | None,
    port: int | None,
    browser: bool,
) -> None:
    from unspool.errors import ConfigError
    from unspool.page.look import Look
    from unspool.run import load, subject_of

    if html is not None and (port is not None or not browser):
        raise ConfigError(
            "a saved page is not served", got=html, remedy="leave out --port and --no-browser"
        )
    subject = subject_of(path)
    if data is not None:
        with show.reading() as progress:
            table = load(path).ngrams(data, say=show.say, progress=progress)
        subject = subject._replace(table=table)
    look = Look(subject, text, view)
    if html is not None:
        look.save(html)
        show.say(str(html))
    else:
        look.serve(port=port or 0, browser=browser, say=tell)


def tell(address: str) -> None:
    print(address, flush=True)
    show.say("Ctrl-C ends it")
