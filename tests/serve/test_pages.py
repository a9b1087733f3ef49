"""The pages of the server in a browser: a model is tried, its routes are shown, in light and dark,
wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tones import RATE, tones, wav

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]  # fmt: skip
TOKEN = "0123456789abcdef-0123456789"


@pytest.fixture(scope="module")
def browser(playwright) -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs a browser: {CHROMIUM}")
    chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def server(serve, classifier, translator, listener):
    return serve(classifier, translator, listener, "--look")


@pytest.fixture
def open_page(browser) -> Iterator[Any]:
    """A page that asks nobody but its server, and logs no error."""
    problems: list[str] = []
    allowed: list[str] = []
    contexts = []

    def make(address: str, *, width: int = 1400, scheme: str = "light", allow: str = "") -> Any:
        allowed.append(allow)
        contexts.append(
            browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        )
        page = contexts[-1].new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda m: m.type == "error" and problems.append(m.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                asked.url.startswith((address[:20], "data:", "blob:")) or problems.append(asked.url)
            ),
        )
        page.goto(address)
        return page

    yield make
    for context in contexts:
        context.close()
    assert [p for p in problems if not any(a and a in p for a in allowed)] == []


def address(server, path: str = "/") -> str:
    return f"http://127.0.0.1:{server.port}{path}"


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_text_is_classified(server, open_page, width, scheme) -> None:
    page = open_page(address(server, "/#classifier"), width=width, scheme=scheme)
    page.fill("#item", "a lovely film")
    page.keyboard.press("Tab")
    page.click("button.primary")
    page.wait_for_selector("table.served-answer")
    answer = page.inner_text("table.served-answer")
    reply = server.ask("/v1/models/classifier/predict", {"items": ["a lovely film"]}).json
    assert reply["answers"][0]["label"] in answer
    assert "classify, bilstm" in page.inner_text(".about")
    page.click("summary:has-text('in a shell')")
    assert "curl http://127.0.0.1" in page.inner_text("details[open] pre")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    surface = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (surface == "rgb(15, 17, 21)") is (scheme == "dark")


def test_options_are_those_of_the_task(server, open_page) -> None:
    page = open_page(address(server, "/#translator"), allow="422")
    page.fill("#item", "red house")
    page.click("summary:has-text('Options')")
    page.fill("#option-nbest", "3")
    page.click("button.primary")
    page.wait_for_selector("table.served-answer")
    page.click("summary:has-text('whole answer')")
    assert page.inner_text("details[open] pre").count('"translation"') >= 2
    page.fill("#option-beam", "999")
    page.click("button.primary")
    page.wait_for_selector("[role=alert]")
    assert "options.beam" in page.inner_text("[role=alert]")


def test_sound_is_uploaded_recorded_and_read(server, open_page, tmp_path) -> None:
    page = open_page(address(server, "/#listener"))
    file = tmp_path / "a.wav"
    file.write_bytes(wav(tones("abc", 1), RATE))
    page.set_input_files("#item", str(file))
    page.wait_for_selector("table.served-answer")
    assert "a.wav" in page.inner_text("[role=status]")
    page.click("button:has-text('Record')")
    page.wait_for_timeout(700)
    page.click("button:has-text('Stop')")
    page.wait_for_selector("[role=status]:has-text('recording.wav')")
    page.wait_for_selector("table.served-answer:has-text('recording')")


def test_the_model_is_in_the_address(server, open_page) -> None:
    page = open_page(address(server))
    assert page.input_value("#model") == "classifier"
    page.select_option("#model", "translator")
    page.wait_for_selector(".about:has-text('translate')")
    assert page.url.endswith("#translator")
    page.click("text=Look inside this model")
    page.wait_for_url("**/look/translator/")
    page.wait_for_selector("[role=tab]")


def test_the_routes(server, open_page) -> None:
    page = open_page(address(server, "/docs"), width=390)
    page.wait_for_selector("details.route")
    document = server.ask("/openapi.json").json
    count = sum(
        method in ("get", "post", "delete")
        for path in document["paths"].values()
        for method in path
    )
    assert page.locator("details.route").count() == count
    page.click("summary:has-text('/v1/models/classifier/predict')")
    assert '"items"' in page.inner_text("details[open]")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_token_is_asked_for(serve, classifier, open_page) -> None:
    server = serve(classifier, env={"UNSPOOL_TOKEN": TOKEN})
    page = open_page(address(server), allow="401")
    page.fill("#token", "wrong")
    page.click("button.primary")
    page.wait_for_selector("[role=alert]:visible")
    page.fill("#token", TOKEN)
    page.click("button.primary")
    page.wait_for_selector("#item")
    page.click("button.primary")
    page.wait_for_selector("table.served-answer")
    assert TOKEN not in page.content()


def test_accessible(server, open_page) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for path, scheme in (("/#translator", "light"), ("/docs", "dark"), ("/#listener", "dark")):
        page = open_page(address(server, path), scheme=scheme)
        page.wait_for_selector("form, details")
        results = axe.run(page)
        assert results.violations_count == 0, results.generate_report()
