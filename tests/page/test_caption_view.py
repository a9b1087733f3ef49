"""A captioner on the page: its words one by one over the image, pixels, patches, a file of one's
own."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from asking import asked
from expecting import expect
from page_runs import settle
from PIL import Image

from pictures import shape
from unspool.page.views import views_of

DROP = """([where, name, content]) => {
    const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], name));
    const event = { dataTransfer: given, bubbles: true, cancelable: true };
    const over = new DragEvent('dragover', event);
    const dropped = new DragEvent('drop', event);
    document.querySelector(where).dispatchEvent(over);
    document.querySelector(where).dispatchEvent(dropped);
    return [over.defaultPrevented, dropped.defaultPrevented];
}"""


def image(i: int, *, format: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.fromarray(shape(i, 16)).save(file, format)
    return file.getvalue()


def drop(page: Any, where: str, name: str, content: bytes) -> None:
    """As the browser does it; a page that does not prevent the default is left for the file."""
    prevented = page.evaluate(DROP, [where, name, base64.b64encode(content).decode()])
    assert prevented == [True, True]


def painted(page: Any, number: int) -> np.ndarray:
    """(H, W, 3) of a canvas."""
    script = """(own) => [own.height, own.width,
        [...own.getContext('2d').getImageData(0, 0, own.width, own.height).data]]"""
    height, width, values = page.locator("canvas.pixels").nth(number).evaluate(script)
    return np.array(values).reshape(height, width, 4)[..., :3]


def test_what_there_is_to_see(server_of) -> None:
    """Where a decoder looks is over the pixels; what looks at the grid itself has weights too."""
    of = {name: views_of(server_of(name).subject) for name in ("captioned", "described")}
    assert of["captioned"] == ["picture", "unrolled", "saliency", "training"]
    assert of["described"] == ["picture", "attention", "saliency", "positions", "training"]
    (kind,) = asked(server_of("described"), "weights", text=1)["kinds"]
    assert kind["kind"] == "self_attention"
    steps = asked(server_of("captioned"), "steps", text=1)
    assert steps["part"] == "decoder"
    assert steps["given"] == ["<s>", *steps["tokens"][:-1]]


def test_a_decoder_is_unrolled_over_its_words(look) -> None:
    page = look("captioned", view="unrolled")
    assert page.get_by_role("alert").all_inner_texts() == []
    assert page.locator("#layer").input_value() == "decoder 1 forwards"


def test_saliency_of_any_word(look, server_of) -> None:
    words = asked(server_of("captioned"), "picture", text=1)["written"]
    page = look("captioned", view="saliency", step=1)
    expect(page.locator(".choice p")).to_contain_text(f"The next word is {words[1]} with")
    page.select_option("#saliency-word", "3")
    settle(page)
    expect(page.locator(".choice p")).to_contain_text(f"The next word is {words[3]} with")


def test_where_each_word_looked(look, server_of, shot) -> None:
    """The slider has the words of the caption, and the layer is the attention of the chosen one."""
    page = look("captioned", view="picture")
    found = asked(server_of("captioned"), "picture", text=1)
    words = found["written"]
    assert words[:3] == ["it", "shows", "a"]
    slider = page.locator("#step")
    assert slider.get_attribute("max") == str(len(words) - 1)
    pixels = np.frombuffer(base64.b64decode(found["pixels"]), np.uint8).reshape(16, 16, 1)
    assert (painted(page, 0) == pixels).all()
    for step in (0, len(words) - 2):
        slider.fill(str(step))
        slider.dispatch_event("change")
        settle(page)
        expect(page.locator("output")).to_have_text(words[step])
        expect(page.locator("#panel p strong").first).to_have_text(words[step])
        weights = np.reshape(found["attention"][step], (16, 16, 1))
        seen = pixels * (0.25 + 0.75 * weights / weights.max())
        assert np.abs(painted(page, 1) - seen).max() < 1
        share = np.sort(weights.ravel())[-26:].sum() / weights.sum()
        expect(page.locator("#panel p.note").last).to_contain_text(
            f": {round(100 * share)} % of it"
        )
        assert f"step={step}" in page.evaluate("location.hash")
    shot(page, "picture-caption")


def test_pixels_and_patches_of_a_word(look, server_of, shot) -> None:
    page = look("captioned", view="picture", step=3)
    for over, says in {
        "pixels": "Orange pixels speak for the answer",
        "hidden": "A patch of 2 x 2 pixels at a time has the mean colour",
        "nothing": "",
    }.items():
        page.select_option("#over", over)
        expect(page.locator("#panel p.note").last).to_contain_text(says)
        same = (painted(page, 1) == painted(page, 0)).all()
        assert same == (over == "nothing")
        shot(page, f"picture-caption-{over}")


@pytest.mark.parametrize("where", ["form.input", "body"])
def test_an_image_is_dropped_on_the_page(look, where: str) -> None:
    page = look("captioned", view="picture")
    drop(page, where, "mine.bmp", image(91, format="BMP"))
    expect(page.locator("#text option:checked")).to_have_text("mine.bmp")
    settle(page)
    assert (painted(page, 0) == shape(91, 16)[..., None]).all()
    expect(page.locator(".answer")).to_contain_text("it shows a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello, I am a text", "mine.png: is not an image that can be read"),
        (image(1)[:-90], "mine.png: cannot be decoded"),
    ],
)
def test_a_file_that_is_no_image_is_dropped(look, allowed, content: bytes, message: str) -> None:
    allowed.append("400")
    page = look("captioned", view="picture")
    drop(page, "body", "mine.png", content)
    expect(page.get_by_role("alert").first).to_contain_text(message)
