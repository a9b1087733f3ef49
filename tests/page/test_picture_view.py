"""The view of pixels: what each contributes, what is without a patch, frames of a video."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import unspool
from films import NAMES, clip
from pictures import shape
from unspool.errors import UserError
from unspool.page.answers import answer
from unspool.page.media import hidden_patches, pixel_contributions
from unspool.page.subject import open_subject

QUICK = {"baseline": False, "precision": "fp32", "epochs": 1, "hidden": 8, "embedding": 8}


@pytest.fixture(scope="module", params=["image-cnn", "image-patches", "video"])
def subject(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    if request.param == "video":
        x, y = np.stack([clip(i) for i in range(16)]), [NAMES[i % 4] for i in range(16)]
        more = {"input": "video"}
    else:
        x, y = np.stack([shape(i) for i in range(18)]), ["abc"[i % 3] for i in range(18)]
        more = {"input": "image", "reading": request.param.partition("-")[2]}
    unspool.train(x, y, out=out, model="gru", **more, **QUICK)
    return open_subject(out)


def test_pixels_add_up_and_patches_are_hidden(subject) -> None:
    """Contributions add up to the difference of the log odds from those of mean colours; a patch
    that is hidden gives what the model gives for that image."""
    reading = subject.read("1")
    with torch.no_grad():
        scores = reading.run()
        blank = reading.blank().run()
    answer_ = reading.answer.chosen(scores[0])[0]
    values = pixel_contributions(reading, 0, answer_)
    explained, baseline = (reading.answer.explained(x, 0, answer_) for x in (scores, blank))
    total = float(explained - baseline)
    assert abs(values.sum() - total) < 0.01 * max(1, abs(total))
    hidden = hidden_patches(reading, 0, answer_)
    field = subject.task.input_field
    covered = reading.input.vectors.copy()
    at = field.source.pixel_values(np.ones_like(covered)).shape
    covered = field.source.cover(covered, 2 * hidden.side, hidden.side, hidden.side)
    other = reading.with_input(reading.input.changed(vectors=covered))
    with torch.no_grad():
        wanted = float(reading.answer.values(other.run()[0])[0, answer_])
    assert hidden.values[2, 1] == pytest.approx(wanted, abs=1e-5)
    assert values.shape == at


def test_the_answer_of_the_page(subject) -> None:
    found = answer(subject, "picture", {"text": "1"})
    frames, height, width, colours = found["size"]
    assert len(base64.b64decode(found["pixels"])) == frames * height * width * colours
    assert [len(own) for own in found["values"]] == [height * width] * frames
    assert "picture" in answer(subject, "run", {})["views"]
    file = io.BytesIO()
    Image.fromarray(shape(3)).save(file, "GIF")
    given = {"name": "new.gif", "file": base64.b64encode(file.getvalue()).decode()}
    assert answer(subject, "picture", {"text": json.dumps(given)})["size"][0] == 1
    given["file"] = "???"
    with pytest.raises(UserError, match="not in base64"):
        answer(subject, "picture", {"text": json.dumps(given)})


def test_the_view(subject, tmp_path: Path) -> None:
    """A saved page has it, with its numbers."""
    from unspool.serve.look import LookPage

    LookPage(subject, None, "picture").save(tmp_path / "page.html")
    assert '"picture"' in (tmp_path / "page.html").read_text()
