"""A saved page: one file that works offline, alone and in a notebook."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from expecting import expect
from page_runs import OTHERS, RUNS, SERIES, TEXTS, settle

from unspool.api.run import load
from unspool.errors import ConfigError, DataError
from unspool.page.saved import WEB, joined


def answers(html: str) -> list[dict]:
    found = re.search(r'<script type="application/json" id="answers">(.*?)</script>', html, re.S)
    assert found
    return json.loads(found[1])


def offline(page) -> list[str]:
    """Takes a page off the network; what it asks for all the same is in the list."""
    asked: list[str] = []
    page.context.set_offline(True)
    page.on("request", lambda request: asked.append(request.url))
    return asked


def tabs(page) -> list[str]:
    return page.get_by_role("tab").all_inner_texts()


@pytest.mark.parametrize("name", [name for name in RUNS if name != "fitted"])
def test_all_views_of_a_run(run_of, page, name, tmp_path: Path, shot) -> None:
    path = tmp_path / "seen.html"
    load(run_of(name)).look(TEXTS[name]).save(path)
    asked = offline(page)
    page.goto(path.as_uri())
    settle(page)
    assert page.input_value("#text") == TEXTS[name]
    fixed = "#text[disabled]" if name in (*SERIES, *OTHERS) else "#text[readonly]"
    expect(page.locator(fixed)).to_have_count(1)
    expect(page.get_by_role("button", name="Look")).to_have_count(0)
    for tab in page.get_by_role("tab").all():
        tab.click()
        settle(page)
        expect(page.get_by_role("alert"), tab.inner_text()).to_have_count(0)
        assert page.locator(".view").inner_text() != ""
    assert [url for url in asked if not url.startswith(("data:", path.as_uri()))] == []
    shot(page, f"saved-{name}")


def test_one_view(run_of, page, tmp_path: Path) -> None:
    path = tmp_path / "seen.html"
    load(run_of("bilstm")).look("great", "saliency").save(path)
    page.goto(path.as_uri())
    settle(page)
    assert tabs(page) == ["Saliency"]
    saved = answers(path.read_text(encoding="utf-8"))
    assert [each["name"] for each in saved] == ["run", "trace", "saliency", "answer"]
    assert saved[1]["params"] == {"text": "great", "first": "0"}


def test_what_is_not_inside(run_of, page, tmp_path: Path) -> None:
    path = tmp_path / "seen.html"
    load(run_of("bilstm")).look("great", "positions").save(path)
    page.goto(path.as_uri() + "#length=32")
    settle(page)
    shown = page.get_by_role("alert").inner_text()
    assert shown == "this saved page holds no such numbers. Open the run with `unspool look`"


def test_a_trace_of_another_version(run_of, page, tmp_path: Path) -> None:
    path = tmp_path / "seen.html"
    html = load(run_of("transformer")).look("great", "attention").html()
    other = html.replace('"answer": {"version": 2,', '"answer": {"version": 7,')
    assert other != html
    path.write_text(other, encoding="utf-8")
    page.goto(path.as_uri())
    settle(page)
    shown = page.get_by_role("alert").inner_text()
    assert shown.startswith("a trace of version 7, and this page reads version 2.")


def test_in_a_notebook(run_of, page, tmp_path: Path) -> None:
    """The frame reaches nothing outside, and the page in it works without an address of its own."""
    shown = load(run_of("bilstm")).look("a fine film")
    frame = shown._repr_html_()
    assert 'sandbox="allow-scripts"' in frame
    assert unescape(re.search(r'srcdoc="(.*?)"', frame, re.S)[1]) == shown.html()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title>{frame}", encoding="utf-8")
    page.goto(path.as_uri())
    inside = page.frame_locator("iframe")
    inside.get_by_role("tab", name="Positions").click()
    inside.locator("#panel:not([aria-busy]) canvas").wait_for()
    assert inside.get_by_role("tab", selected=True).inner_text() == "Positions"


def test_markup_in_a_text_stays_text(run_of, page, tmp_path: Path) -> None:
    path, nasty = tmp_path / "seen.html", "</script><img src=x onerror=alert(1)>"
    load(run_of("bilstm")).look(nasty, "unrolled").save(path)
    page.goto(path.as_uri())
    settle(page)
    assert page.input_value("#text") == nasty
    expect(page.locator("img")).to_have_count(0)


def test_the_policy_names_what_is_inside(run_of) -> None:
    html = load(run_of("bilstm")).look("great", "training").html()
    policy = unescape(re.search(r'Content-Security-Policy" content="(.*?)"', html)[1])
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';"
        r" img-src data:; media-src data:; base-uri 'none'; form-action 'none'",
        policy,
    )


def test_all_modules_are_joined() -> None:
    script = joined("app.js")
    for path in WEB.rglob("*.js"):
        assert script.count(f"modules['{path.relative_to(WEB).as_posix()}'] = ") == 1
    assert not re.search(r"^(import|export)\b", script, re.M)


def test_bad_looks(run_of, tmp_path: Path) -> None:
    run = load(run_of("bilstm"))
    with pytest.raises(DataError, match="the text is empty"):
        run.look(" ")
    with pytest.raises(ConfigError, match=r"unknown view; got 'salience'. Did you mean 'saliency'"):
        run.look("great", "salience")
    with pytest.raises(ConfigError, match=r"this run has no attention view. Choose from unrolled,"):
        run.look("great", "attention")
    with pytest.raises(DataError, match="cannot write the page"):
        run.look("great", "training").save(tmp_path / "no" / "seen.html")
    assert repr(run.look("great")) == f"<Look {run.path}: .save(path) or .serve()>"
