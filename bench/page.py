"""How fast is the page: an answer for 60 tokens, and a text of 2,000 tokens in the browser?

    python bench/page.py [--quick] [--json FILE] [--threads N] [--rounds N]

Classifiers of two layers at their default sizes, trained on generated reviews of some 60 words.
Answers are asked for over HTTP, a new text each time, since the server keeps answers: the trace,
the saliency, and both. In the browser (Debian's chromium; skipped without it) a text of 2,000
tokens is opened in each view. Printed: the seconds until it stands, the longest task that kept the
page from answering to its reader, in milliseconds, and the number of elements.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import unspool
from timing import installed, parser, set_up, write_json
from unspool.demos.reviews import reviews, write_csv
from unspool.page.views import views_of
from unspool.serve.page import PageServer

MODELS = ("bilstm", "bigru", "transformer")
SHORT, LONG = 60, 2000
CHROMIUM = Path("/usr/bin/chromium")
LONGEST_TASK = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
}).observe({ type: 'longtask', buffered: true });
"""


def opinions(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Reviews of five sentences, and what all of them are."""
    rng = random.Random(seed)
    own: dict[str, list[str]] = {"praise": [], "complaint": []}
    for sentence, opinion in reviews(2000, seed):
        own[opinion].append(sentence)
    for _ in range(count):
        opinion = rng.choice(list(own))
        yield " . ".join(rng.choices(own[opinion], k=5)), opinion


@contextmanager
def served(name: str) -> Iterator[PageServer]:
    """The page of a trained model of two layers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_csv(path / "reviews.csv", list(opinions(2000, 1)))
        settings = {"layers": 2, "max_length": LONG, "epochs": 2}
        run = unspool.train(path / "reviews.csv", model=name, out=path / "run", **settings)
        with PageServer(run.subject()) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield server
            server.shutdown()


def text(rng: random.Random, count: int) -> str:
    """The first words of reviews that nobody has learnt from."""
    every = opinions(1 + count // 30, rng.randrange(10**6))
    return " ".join(" . ".join(review for review, _ in every).split()[:count])


def seconds(server: PageServer, words: str, *names: str) -> float:
    started = time.perf_counter()
    for name in names:
        with urlopen(f"{server.address()}api/{name}?{urlencode({'text': words})}") as reply:
            reply.read()
    return time.perf_counter() - started


def answers(server: PageServer, rounds: int) -> dict[str, float]:
    """Milliseconds, the median of some rounds."""
    rng, found = random.Random(1), {}
    for label, names in {
        "trace": ["trace"], "saliency": ["saliency"], "both": ["trace", "saliency"],
    }.items():  # fmt: skip
        seconds(server, text(rng, SHORT), *names)
        times = [seconds(server, text(rng, SHORT), *names) for _ in range(rounds)]
        found[label] = 1000 * median(times)
    return found


def in_browser(server: PageServer, browser: Any) -> dict[str, dict[str, float]]:
    """A long text in each view."""
    words, found = text(random.Random(2), LONG), {}
    for view in views_of(server.subject):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(LONGEST_TASK)
        started = time.perf_counter()
        page.goto(server.address(view=view, text=words))
        page.wait_for_selector("#panel:not([aria-busy])", timeout=120_000)
        stood = time.perf_counter() - started
        page.wait_for_timeout(500)  # the observer tells of a task after it
        found[view] = {
            "seconds": stood,
            "longest": page.evaluate("window.longest"),
            "elements": page.evaluate("document.querySelectorAll('*').length"),
            "alerts": page.get_by_role("alert").count(),
        }
        page.close()
    return found


def opened(models: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row for each model and view."""
    if not installed("playwright"):
        return
    if not CHROMIUM.exists():
        print(f"skipped: what needs {CHROMIUM}")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        for name in models:
            with served(name) as server:
                for view, own in in_browser(server, browser).items():
                    yield {"model": name, "view": view, **own}
        browser.close()


def main() -> None:
    options = parser(__doc__, rounds=10).parse_args()
    machine = set_up(options)
    models, rows = MODELS[:1] if options.quick else MODELS, []
    print(f"\n{SHORT} tokens, milliseconds")
    for name in models:
        with served(name) as server:
            found = answers(server, options.rounds)
        rows.append({"model": name, **found})
        print(f"{name:12}", "  ".join(f"{label} {ms:.0f}" for label, ms in found.items()))
    print(f"\n{LONG} tokens in the browser")
    for row in opened(models):
        rows.append(row)
        print(
            f"{row['model']:12} {row['view']:12} {row['seconds']:6.2f} s"
            f"  longest task {row['longest']:5.0f} ms  {row['elements']:5} elements"
            + ("  an error is shown" if row["alerts"] else "")
        )
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
