"""A page as one file that needs nothing else: no server, no network, no unspool.

In: a `Subject`, a text, perhaps the name of a view. Out: HTML with the style, all scripts as one,
and the answers that the views ask for. Its policy names the style and the script by their hashes
and allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from unspool.errors import UserError
from unspool.page.answers import answer, encoded, query_of
from unspool.page.subject import Subject
from unspool.page.views import VIEWS, chosen_view, views_of

WEB = Path(__file__).parent / "web"


def asset(name: str) -> bytes:
    return (WEB / name).read_bytes()


IMPORT = re.compile(r"^import \{([^}]*)\} from '([^']+)';\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (\w+))", re.MULTILINE)


def saved_page(subject: Subject, text: str | None = None, view: str | None = None) -> str:
    """The page of one text, with one view or with all that the subject has."""
    views = views_of(subject) if view is None else [chosen_view(subject, view)]
    run = answer(subject, "run", {})
    text = subject.example if text is None else text
    run |= {"views": views, "example": text, "saved": True}
    answers: list[dict[str, Any]] = [{"name": "run", "params": {}, "answer": run}]
    wanted = [each for name in views for each in VIEWS[name].wants(subject, text)]
    if run["answers"]:
        wanted.append(("answer", {"text": text}))
    if run["input"].get("plays"):
        wanted.append(("sound", {"text": text}))
    queries = {query_key(*each): each for each in wanted}
    for name, parameters in queries.values():
        query, shown = query_of(name, parameters), tried(subject, name, parameters)
        answers.append({"name": name, "params": query, "answer": shown})
    return document(f"{run['name']} – unspool", answers)


def query_key(name: str, parameters: dict[str, str]) -> tuple[Any, ...]:
    return (name, *query_of(name, parameters).items())


def tried(subject: Subject, name: str, parameters: dict[str, str]) -> dict[str, Any]:
    """An answer; of a question that has none, such as neighbours of an unknown word, why."""
    try:
        return answer(subject, name, parameters)
    except UserError as error:
        return {"error": str(error)}


def document(title: str, answers: list[dict[str, Any]]) -> str:
    style = asset("style.css").decode() + asset("views.css").decode()
    script = joined("app.js")
    policy = (
        f"default-src 'none'; script-src '{hash_of(script)}'; style-src '{hash_of(style)}';"
        " img-src data:; media-src data:; base-uri 'none'; form-action 'none'"
    )
    # "<" could end the element that holds the data.
    data = encoded(answers).decode().replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<noscript><p class="error">This page needs JavaScript.</p></noscript>
<script type="application/json" id="answers">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def hash_of(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def joined(first: str) -> str:
    """A module and all that it imports, as one script: each is a function that is called once and
    returns what it exports. Files may not import modules, in any browser."""
    done: dict[str, str] = {}
    add_module(first, done)
    return "(() => {\n'use strict';\nconst modules = {};\n" + "".join(done.values()) + "})();\n"


def add_module(name: str, done: dict[str, str]) -> None:
    source = asset(name).decode()

    def path(other: str) -> str:
        return normpath(join(dirname(name), other))

    def constant(match: re.Match[str]) -> str:
        names = match[1].replace(" as ", ": ").strip()
        return f"const {{ {names} }} = modules['{path(match[2])}'];\n"

    for _, other in IMPORT.findall(source):
        if path(other) not in done:
            add_module(path(other), done)
    body = IMPORT.sub(constant, EXPORT.sub("", source))
    if left := re.search(r"^(import|export)\b.*|</script", body, re.MULTILINE):
        raise ValueError(f"{name}: a saved page cannot take over {left[0]!r}")
    exports = ", ".join(EXPORT.findall(source))
    done[name] = f"modules['{name}'] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"
