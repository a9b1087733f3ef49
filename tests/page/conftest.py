"""The page in a real browser: small runs, a server for each, chromium, and what it must not do.

`look("bilstm", view="saliency", text="a fine film")` opens the page of a run and waits until it
stands. A test fails where the page logs an error or asks anybody but its own server for anything;
an error that the test is about stands in `allowed`. Without playwright or chromium these tests are
skipped.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from page_runs import RUNS, TEXTS, settle

from films import NAMES, clip
from pictures import write_captions
from tones import write_labels, write_texts
from unspool.api.train import train
from unspool.demos.chorale import write_chorales
from unspool.demos.handwriting import write_words, written
from unspool.page.subject import open_subject
from unspool.serve.page import PageServer

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
FILLERS = ["please", "note", "that", "we", "shall", "meet", "soon", "thanks", "for", "help"]
SHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(scope="session")
def ratings(reviews, tmp_path_factory) -> Path:
    """The reviews with a number in place of their label."""
    rows = reviews.read_text().replace(",pos\n", ",40.5\n").replace(",neg\n", ",-7\n")
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    path.write_text(rows.replace(",label\n", ",rating\n", 1))
    return path


@pytest.fixture(scope="session")
def mails(tmp_path_factory) -> Path:
    """Texts with a name that stands after `with`, and nowhere else, and in their summary."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("mails") / "mails.csv"
    lines = ["article,summary"]
    for _ in range(400):
        name = "".join(rng.choice([*"bcdfgklmnprstv"], 7))
        before, after = (" ".join(rng.choice(FILLERS, rng.integers(4, 8))) for _ in range(2))
        lines.append(f"{before} with {name} {after},meeting with {name}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def movements(tmp_path_factory) -> Path:
    """Recordings of two channels, of two kinds, with some gaps."""
    return write_steps(tmp_path_factory.mktemp("movements") / "movements.csv", 60, mixed=False)


@pytest.fixture(scope="session")
def sessions(tmp_path_factory) -> Path:
    """The same, with a label a step."""
    return write_steps(tmp_path_factory.mktemp("sessions") / "sessions.csv", 20, mixed=True)


@pytest.fixture(scope="session")
def loads(tmp_path_factory) -> Path:
    """Four weeks of hours, and the temperature."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("loads") / "loads.csv"
    lines = ["time,load,heat"]
    for hour in range(24 * 28):
        wave = math.sin(2 * math.pi * hour / 24)
        load, heat = 20 + 5 * wave + rng.normal(0, 0.3), 10 + wave
        lines.append(f"{datetime(2026, 3, 1) + timedelta(hours=hour)},{load:.3f},{heat:.3f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def spoken_tones(tmp_path_factory) -> Path:
    """Recordings of tones, a letter each, and what they say."""
    return write_texts(tmp_path_factory.mktemp("spoken") / "spoken", 60)


@pytest.fixture(scope="session")
def single_tones(tmp_path_factory) -> Path:
    """A folder of recordings for each letter."""
    return write_labels(tmp_path_factory.mktemp("tones") / "tones", each=8)


@pytest.fixture(scope="session")
def letter_strokes(tmp_path_factory) -> Path:
    """Letters as movements of a pen, with a label each."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("letters") / "letters.jsonl"
    rows = [
        {"label": name, "strokes": [line.round(2).tolist() for line in written(name, rng)]}
        for name in "ltc" * 20
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="session")
def word_strokes(tmp_path_factory) -> Path:
    """Words of three letters, written by hand."""
    path = tmp_path_factory.mktemp("words") / "words.jsonl"
    write_words(path, count=40, letters="lit")
    return path


@pytest.fixture(scope="session")
def chorales(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("chorales") / "chorales.json"
    write_chorales(path, count=30)
    return path


@pytest.fixture(scope="session")
def captions(tmp_path_factory) -> Path:
    """Images of a bar, a line or a dot, and what they show."""
    return write_captions(tmp_path_factory.mktemp("captions") / "captions", 90, size=16)


@pytest.fixture(scope="session")
def moving_clips(tmp_path_factory) -> Path:
    """Clips with a label each, a label a frame, and a caption."""
    home = tmp_path_factory.mktemp("clips")
    rows = []
    for i in range(48):
        np.save(home / f"{i}.npy", clip(i, size=16))
        name = NAMES[i % 4]
        tags = [*[name] * 4, "still"]
        rows.append({"file": f"{i}.npy", "label": name, "tags": tags, "caption": f"it goes {name}"})
    path = home / "clips.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="session")
def text_pairs(tmp_path_factory) -> Path:
    """Whether a sentence follows from another."""
    rng = np.random.default_rng(6)
    lines = ["premise,hypothesis,label"]
    for _ in range(120):
        first, second = rng.choice(["man", "woman", "dog"], 2)
        label = "yes" if first == second else "no"
        lines.append(f"a {first} sleeps in the house,the {second} sleeps,{label}")
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def placed_answers(tmp_path_factory) -> Path:
    """Questions, and contexts with their answers, as SQuAD has them."""
    places = ["Ulm", "Bern", "Kiel", "Jena"]
    paragraphs = []
    for i in range(60):
        place = places[i % 4]
        context = f"Anna lives in {place}, and Carl works in {places[i // 4 % 4]}."
        found = {"text": place, "answer_start": context.index(place)}
        asked = {"id": str(i), "question": "Where does Anna live?", "answers": [found]}
        paragraphs.append({"context": context, "qas": [asked]})
    path = tmp_path_factory.mktemp("squad") / "squad.json"
    path.write_text(json.dumps({"data": [{"title": "places", "paragraphs": paragraphs}]}))
    return path


@pytest.fixture(scope="session")
def stories(tmp_path_factory) -> Path:
    """Who went where, in the format of bAbI; some answers are lists of two."""
    rng = np.random.default_rng(7)
    lines = []
    for i in range(120):
        moves = [(rng.choice(["Anna", "Carl"]), rng.choice(["kitchen", "hall"])) for _ in range(4)]
        lines += [f"{n} {who} went to the {where}." for n, (who, where) in enumerate(moves, 1)]
        who, where = moves[i % 4][0], [place for name, place in moves if name == moves[i % 4][0]]
        lines.append(f"5 Where was {who}?\t{','.join(where[-2:])}\t1")
    path = tmp_path_factory.mktemp("stories") / "stories.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_steps(path: Path, count: int, *, mixed: bool) -> Path:
    rng = np.random.default_rng(4)
    lines = ["id,time,x,y,move"]
    for i in range(count):
        steps = int(rng.integers(20, 36))
        for t in range(steps):
            name = ("up", "down")[(t // 12 if mixed else i) % 2]
            turn = 0.4 if name == "up" else 1.1
            x, y = math.sin(turn * t) + rng.normal(0, 0.1), math.cos(turn * t)
            first = "" if rng.random() < 0.02 else f"{x:.3f}"
            lines.append(f"r{i},{t / 10:.1f},{first},{y:.3f},{name}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def run_of(request, once, tmp_path_factory) -> Callable[[str], Path]:
    """The folder of a small trained run by name, trained when it is first needed."""

    def make(name: str) -> Path:
        fixture, settings = RUNS[name]
        path = request.getfixturevalue(fixture)
        if not settings:
            return path
        os.environ["UNSPOOL_CACHE"] = str(tmp_path_factory.getbasetemp() / "cache")
        return once(f"page-runs/{name}", lambda out: train(path, out=out, **settings))

    return make


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., PageServer]]:
    """A server for a subject, in a thread."""
    servers: list[PageServer] = []

    def start(subject: Any) -> PageServer:
        servers.append(PageServer(subject))
        threading.Thread(target=servers[-1].serve_forever, args=(0.05,), daemon=True).start()
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def server_of(run_of, serve) -> Callable[[str], PageServer]:
    """The server of a run by name."""
    servers: dict[str, PageServer] = {}

    def server(name: str) -> PageServer:
        if name not in servers:
            servers[name] = serve(open_subject(run_of(name)))
        return servers[name]

    return server


@pytest.fixture(scope="session")
def browser(playwright) -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs a browser: {CHROMIUM} (apt-get install chromium)")
    chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def context(browser) -> Iterator[Any]:
    """What all pages are opened in: a context each would cost more than most tests."""
    opened = browser.new_context(reduced_motion="reduce")
    yield opened
    opened.close()


@pytest.fixture
def allowed() -> list[str]:
    """Patterns of console errors that a test expects."""
    return []


@pytest.fixture
def new_page(context, allowed) -> Iterator[Callable[..., Any]]:
    """Another page: new_page(width=390, scheme="dark")"""
    pages, problems = [], []

    def make(width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        page = context.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_default_timeout(60_000)
        page.on(
            "console", lambda message: message.type == "error" and problems.append(message.text)
        )
        page.on("pageerror", lambda error: problems.append(f"{error}"))
        page.on("request", lambda asked: is_own(asked.url) or problems.append(asked.url))
        return page

    yield make
    for page in pages:
        page.close()
    context.set_offline(False)
    left = [p for p in problems if not any(re.search(pattern, p) for pattern in allowed)]
    assert left == []


def is_own(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "file:", "about:", "blob:"))


@pytest.fixture
def page(new_page) -> Any:
    return new_page()


@pytest.fixture
def look(request, server_of) -> Callable[..., Any]:
    """Open `page` (or another one) at a view of a run."""

    def go(name: str, *, on: Any = None, **params: Any) -> Any:
        params = {"text": TEXTS[name], **params}
        shown = on or request.getfixturevalue("page")
        if shown.url != "about:blank":  # from which any address loads the page anew
            shown.goto("about:blank")
        shown.goto(server_of(name).address() + "#" + urlencode(params, quote_via=quote))
        settle(shown)
        return shown

    return go


@pytest.fixture(scope="session")
def shot() -> Callable[[Any, str], None]:
    """Keep a screenshot of the whole page if SCREENSHOTS is set: shot(page, "saliency-bilstm")"""
    if not os.environ.get("SCREENSHOTS"):
        return lambda page, name: None
    SHOTS.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
