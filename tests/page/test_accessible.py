"""Every view of every run: rules of accessibility, in light and dark, on a phone and on a desk."""

from __future__ import annotations

import pytest
from accessible import is_too_wide, violations
from expecting import expect
from page_runs import RUNS, settle

WIDTHS = {"desk": 1280, "phone": 390}


@pytest.mark.parametrize("name", RUNS)
def test_every_view(look, name, shot) -> None:
    page, found = look(name), []
    views = page.evaluate("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.id)")
    for scheme, place in (("light", "desk"), ("dark", "phone")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": WIDTHS[place], "height": 900})
        page.wait_for_selector(f"#panel[data-width='{WIDTHS[place]}']:not([aria-busy])")
        for view in views:
            page.click(f"#{view}")
            settle(page)
            expect(page.get_by_role("alert")).to_have_count(0)
            where = f"{view.removeprefix('tab-')}-{name}-{scheme}-{place}"
            if is_too_wide(page):
                found.append(f"{where}: too wide")
            found += [f"{where}: {each}" for each in violations(page)]
            shot(page, where)
    assert found == []


def test_errors(look, allowed) -> None:
    allowed.append("400")
    page = look("bilstm", text="")
    assert violations(page) == []
    page.evaluate("delete document.getElementById('panel').dataset.width")
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("#panel[data-width]:not([aria-busy])")  # it was drawn again
    assert violations(page) == []
