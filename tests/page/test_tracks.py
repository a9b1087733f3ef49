"""What stands beside and above the tracks of a timeline: names and numbers that can be read."""

from __future__ import annotations

from typing import Any

from asking import asked
from expecting import expect

# Draws a track of a module with a pen that only notes what is written where.
WRITTEN = """async ([module, maker, given]) => {
  const first = document.querySelector('script[type=module]').src;
  const made = (await import(new URL(module, first)))[maker](given);
  const texts = [];
  const pen = new Proxy({}, {
    get: (own, name) => {
      if (name === 'fillText') return (text, x, y) => texts.push([text, y]);
      return name in own ? own[name] : () => ({ width: 0 });
    },
    set: (own, name, value) => { own[name] = value; return true; },
  });
  const area = {
    left: 50, width: 200, height: made.height, from: 0, to: 4, font: '', columns: 200,
    colour: () => '', x: (step) => 50 + 50 * step, step: (x) => Math.floor(x / 50),
  };
  made.draw(pen, area);
  return { texts, height: made.height };
}"""


def written(page: Any, module: str, maker: str, **given: Any) -> dict[str, Any]:
    return page.evaluate(WRITTEN, [module, maker, given])


def test_names_of_keys_are_whole(look) -> None:
    """At the upper and lower edge of a piano roll too, where a key is a few pixels high."""
    page = look("labelled", view="training")
    notes = [[0, 1, 24], [1, 2, 107]]  # C1, and the key below C8, which is the uppermost row
    found = written(page, "views/playing/roll.js", "rollTrack", notes=notes, given=0, grid=4)
    assert {"C1", "C8"} <= {text for text, _ in found["texts"]}
    assert all(6 <= y <= found["height"] - 6 for _, y in found["texts"])


def test_the_cursor_passes_behind_the_names(look) -> None:
    page = look("labelled", view="saliency")
    expect(page.locator(".track-name", has_text="contribution")).to_be_visible()
    name = page.locator(".track-name strong").first
    behind = name.evaluate("own => getComputedStyle(own).backgroundColor")
    assert behind == page.locator(".surface").first.evaluate(
        "own => getComputedStyle(own).backgroundColor"
    )


def test_numbers_of_tables_stay_on_one_line(look, new_page) -> None:
    page = look("chorale", view="playing", on=new_page(width=390))
    cells = page.locator("td.number")
    cells.first.wait_for()
    assert {cell.evaluate("own => getComputedStyle(own).whiteSpace") for cell in cells.all()} == {
        "nowrap"
    }


def test_what_an_image_and_a_video_are_made_of(look, server_of) -> None:
    """An image has parts, a video frames; neither has steps."""
    examples = {
        name: asked(server_of(name), "run")["input"]["examples"][0]
        for name in ("captioned", "clips")
    }
    assert "steps" not in examples["captioned"]
    assert examples["clips"].endswith(", 5 frames")
    page = look("captioned", view="saliency", step=1)
    expect(page.locator(".about")).to_have_text(
        "Why this answer: what each part of the image, and each channel at it, contributes to it."
        " “2,3” is the third part of the second row."
    )
    expect(page.locator(".view p.note[role=status]")).to_contain_text("of “shows”; ")
    page = look("described", view="attention")
    expect(page.locator(".about")).to_contain_text("Which parts of the image look at which")
    page = look("clips", view="picture")
    contributes = asked(server_of("clips"), "picture", text=1)["frames"]
    at = max(range(5), key=lambda i: abs(contributes[i]))
    shown = f"{contributes[at]:+.4f}".replace("-", "−")
    expect(page.locator(".view")).to_contain_text(f"it contributes {shown}. ")
