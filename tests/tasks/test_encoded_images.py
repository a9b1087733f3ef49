"""Images by a trained encoder: frozen, with features from the cache, or learning with the rest."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import unspool
from pictures import write_folders
from unspool.errors import ConfigError, DataError, UserError
from unspool.nn.efficientnet import EfficientNetLite0
from unspool.page.answers import answer
from unspool.page.subject import open_subject

QUICK = {
    "hidden": 8, "embedding": 8, "epochs": 1, "height": 32, "width": 32, "valid_share": 0,
    "precision": "fp32", "baseline": False, "model": "gru",
}  # fmt: skip


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    torch.manual_seed(3)
    path = tmp_path_factory.mktemp("encoder") / "encoder.safetensors"
    EfficientNetLite0().save(path)
    return path


def test_frozen_features(encoder: Path, tmp_path: Path) -> None:
    home = write_folders(tmp_path / "x", 9)
    notes: list[str] = []
    given = {**QUICK, "image_encoder": str(encoder), "note": notes.append}
    run = unspool.train(home, out=tmp_path / "run", **given)
    assert any("1,280 features at 1 x 1 positions, of encoder.safetensors" in n for n in notes)
    unspool.train(home, out=tmp_path / "again", **given)
    assert any("comes from the cache" in note for note in notes)
    stored = run.task.input_field.encode([home / "bar" / "0.png"]).raw[0]
    wanted = run.task.input_field.recording(home / "bar" / "0.png", "").values
    assert np.array_equal(stored, wanted)
    encoder_away = encoder.rename(encoder.with_name("away.safetensors"))
    try:  # the run folder has all that it needs
        (found,) = unspool.load(tmp_path / "run").predict(home / "bar" / "0.png")
        (here,) = run.predict(home / "bar" / "0.png")
        assert found.probabilities == here.probabilities
        with pytest.raises(DataError, match=r"encoder.safetensors: there is no such file"):
            unspool.train(home, out=tmp_path / "none", **given)
    finally:
        encoder_away.rename(encoder)


def test_an_encoder_that_learns(encoder: Path, tmp_path: Path) -> None:
    home = write_folders(tmp_path / "x", 6)
    given = {**QUICK, "image_encoder": str(encoder), "tuned_encoder": True, "flip": 0.5}
    run = unspool.train(home, out=tmp_path / "run", **given)
    before = EfficientNetLite0.read(encoder).stem.weight
    assert not torch.equal(run.model.encoder.input.encoder.stem.weight, before)
    (found,) = unspool.load(tmp_path / "run").predict(home / "bar" / "0.png")
    (here,) = run.predict(home / "bar" / "0.png")
    assert found.probabilities == here.probabilities


def test_what_does_not_go_together(encoder: Path, tmp_path: Path) -> None:
    home = write_folders(tmp_path / "x", 6)
    with pytest.raises(ConfigError, match="features of a frozen encoder are computed once"):
        unspool.train(home, **{**QUICK, "image_encoder": str(encoder), "flip": 0.5})
    with pytest.raises(ConfigError, match=r"reading=encoder and data.image_encoder go together"):
        unspool.train(home, **{**QUICK, "reading": "encoder"})


def test_the_page_of_features(encoder: Path, tmp_path: Path) -> None:
    """A file given to the page is seen with its pixels. Contributions are those of the features at
    each position, and add up; patches of pixels are hidden before the encoder reads them."""
    home = write_folders(tmp_path / "x", 9)
    given = {**QUICK, "height": 64, "width": 64, "image_encoder": str(encoder)}
    run = unspool.train(home, out=tmp_path / "run", **given)
    subject = open_subject(run.path)
    with pytest.raises(UserError, match="no image was given"):
        answer(subject, "picture", {"text": ""})
    item = home / "bar" / "0.png"
    field = subject.task.input_field
    kept = json.dumps(field.form.to_json(item))
    found = answer(subject, "picture", {"text": kept})
    assert found["size"] == [1, 64, 64, 3]
    image = np.rint(field.source.image(item)).astype(np.uint8)
    assert base64.b64decode(found["pixels"]) == image.tobytes()
    reading = subject.read(kept)
    vectors = run.task.reading(run.model, item).input.vectors
    assert np.allclose(reading.input.vectors, vectors, atol=1e-3)
    scores, blank = reading.run().detach(), reading.blank().run().detach()
    chosen = reading.answer.chosen(scores[0])[0]
    explained, baseline = (reading.answer.explained(x, 0, chosen) for x in (scores, blank))
    total = float(explained - baseline)
    assert abs(sum(map(sum, found["values"])) - total) < 0.01 * max(1, abs(total))
    assert np.shape(found["hidden"]["values"]) == field.source.shape.grid == (2, 2)
    assert found["hidden"]["side"] == 32
    covered = image.astype(np.float32)
    covered[32:, :32] = covered.mean((0, 1))
    scores = run.task.reading(run.model, covered).run().detach()
    wanted = float(reading.answer.values(scores[0])[0, chosen])
    assert found["hidden"]["values"][1][0] == pytest.approx(wanted, abs=1e-5)
