"""The page around the views: tabs, the input, the address, errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from expecting import eventually, expect
from page_runs import settle

from unspool.api.run import load
from unspool.page.subject import open_subject


def selected(page) -> str:
    return page.get_by_role("tab", selected=True).inner_text()


def error(page) -> str:
    return page.get_by_role("alert").inner_text()


def params(page) -> str:
    return page.evaluate("location.hash")


def test_it_opens(look, run_of, shot) -> None:
    page = look("bilstm")
    count = sum(p.numel() for p in load(run_of("bilstm")).model.parameters())
    assert page.title() == "classifier – unspool"
    assert page.get_by_role("heading", level=1).inner_text() == "unspool classifier"
    assert f"classify · bilstm · {count:,} parameters" in page.inner_text("header")
    assert selected(page) == "Unrolled"
    assert page.input_value("#text") == "a lovely film with a dull plot"
    shot(page, "app-bilstm")


def test_without_a_text_there_is_an_example(page, server_of) -> None:
    server = server_of("bilstm")
    page.goto(server.address())
    settle(page)
    assert page.input_value("#text") == server.subject.example
    expect(page.get_by_role("alert")).to_have_count(0)


def test_tabs_by_mouse(look) -> None:
    page = look("bilstm")
    for title in ("Saliency", "Training", "Positions", "Unrolled"):
        page.get_by_role("tab", name=title).click()
        settle(page)
        assert selected(page) == title
        assert f"view={title.lower()}" in params(page)
        expect(page.get_by_role("tabpanel", name=title)).to_have_count(1)


def test_tabs_by_keyboard(look) -> None:
    page = look("bilstm", view="positions")
    page.focus("[role=tab][aria-selected=true]")
    for key, title in [("ArrowRight", "Neighbours"), ("ArrowRight", "Training"),
                       ("ArrowRight", "Unrolled"), ("ArrowLeft", "Training"),
                       ("Home", "Unrolled"), ("End", "Training")]:  # fmt: skip
        page.keyboard.press(key)
        settle(page)
        assert selected(page) == title
        assert page.evaluate("document.activeElement.textContent") == title
    expect(page.locator("[role=tab][tabindex='0']")).to_have_count(1)


def test_a_new_text(look) -> None:
    page = look("bilstm", view="training")
    page.fill("#text", "a dull plot & more")
    page.keyboard.press("Enter")
    settle(page)
    assert "text=a+dull+plot+%26+more" in params(page)
    assert "view=training" in params(page)
    page.fill("#text", "great")
    page.get_by_role("button", name="Look").click()
    settle(page)
    assert "text=great" in params(page)
    page.focus("#text")
    page.keyboard.press("Shift+Enter")
    assert "text=great" in params(page)
    assert "\n" in page.input_value("#text")


def test_going_back(look) -> None:
    page = look("bilstm", view="training", text="great")
    page.get_by_role("tab", name="Positions").click()
    settle(page)
    page.go_back()
    page.wait_for_selector("#tab-training[aria-selected=true]")
    settle(page)
    assert page.input_value("#text") == "great"


def test_deep_links(look) -> None:
    page = look("bilstm", view="positions", position="9", length="32")
    assert selected(page) == "Positions"
    assert page.input_value("#position") == "9"
    assert page.input_value("#length") == "32"
    page.get_by_role("tab", name="Training").click()  # to which these mean nothing
    settle(page)
    assert "position" not in params(page).replace("view=positions", "")


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_text(look, allowed, text) -> None:
    allowed.append("400")
    page = look("bilstm", text=text)
    assert error(page) == "there is nothing to look at: the text is empty. Give some words"
    page.get_by_role("tab", name="Positions").click()  # which needs no text
    settle(page)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_text_that_is_too_long(look) -> None:
    page = look("bilstm")
    page.fill("#text", "word " * 15_000)  # too long for an address
    page.keyboard.press("Enter")
    settle(page)
    expect(page.locator(".unrolled .window")).to_contain_text("Only the first 2,048 of 15,000")
    page.fill("#text", "word " * 450_000)
    page.keyboard.press("Enter")
    settle(page)
    assert error(page).startswith("the input is too long for the page: ")
    assert error(page).endswith("2,000,000 fit. Give a shorter one")


def test_an_unknown_view(look) -> None:
    page = look("bilstm", view="nonsense")
    names = "unrolled, saliency, gradients, positions, neighbours, training"
    assert error(page) == f"unknown view: nonsense. Choose from {names}"
    page.get_by_role("tab", name="Training").click()
    settle(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    page = look("bilstm", view="attention")
    assert error(page).startswith("this run has no such view: attention. Choose from ")


def test_a_command_that_has_ended(look, allowed) -> None:
    allowed.append("ERR_CONNECTION_REFUSED")
    page = look("bilstm", view="positions")
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    page.get_by_role("tab", name="Training").click()
    settle(page)
    assert error(page) == "no answer: the command that serves this page has ended. Start it again"


def test_a_change_of_the_colour_scheme(look) -> None:
    """Canvases are drawn anew."""
    page = look("bilstm", view="positions")
    pixel = "document.querySelector('canvas').getContext('2d').getImageData(1, 0, 1, 1).data[0]"
    light = page.evaluate(pixel)
    page.emulate_media(color_scheme="dark")
    eventually(lambda: page.evaluate(pixel) != light)


def test_a_run_that_has_no_weights_yet(run_of, serve, page, tmp_path: Path, shot) -> None:
    run = Path(shutil.copytree(run_of("bilstm"), tmp_path / "young"))
    (run / "model.safetensors").unlink()
    (run / "README.md").unlink()
    page.goto(serve(open_subject(run)).address())
    settle(page)
    assert page.get_by_role("tab").all_inner_texts() == ["Training"]
    assert not page.is_visible("#text")
    expect(page.get_by_role("slider")).to_have_count(2)
    shot(page, "app-young")


def test_markup_is_text(run_of, serve, page, tmp_path: Path, allowed) -> None:
    """Nothing that a model or a person says becomes part of the page."""
    allowed.append("400")
    nasty = "<img src=x onerror=alert(1)>"
    run = Path(shutil.copytree(run_of("bilstm"), tmp_path / nasty))
    (run / "hashes.json").unlink()  # changed on purpose
    (run / "labels.json").write_text(json.dumps([nasty, "pos"]))
    page.goto(serve(open_subject(run)).address(text=nasty))
    settle(page)
    for tab in page.get_by_role("tab").all():
        tab.click()
        settle(page)
        expect(page.locator("img")).to_have_count(0)
    assert page.get_by_role("heading", level=1).inner_text() == f"unspool {nasty}"
