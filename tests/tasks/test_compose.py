"""Music through the task: what it learns, writes and refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from typer.testing import CliRunner

import unspool
from unspool.cli.app import app
from unspool.data.part import Part
from unspool.data.read.music import Midi, as_piece
from unspool.demos.chorale import write_chorales
from unspool.errors import ConfigError, DataError
from unspool.nn.models.music import KeysOutput
from unspool.tasks.compose.answer import Composing, roll_svg

SMALL = {"hidden": 24, "embedding": 16, "dropout": 0.0, "threads": 1, "quiet": True,
         "precision": "fp32", "batch": 8, "lr": 1e-2, "patience": 0}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("music") / "chorales.json"
    write_chorales(path, count=40)
    return path


@pytest.fixture(scope="module", params=["frames", "events"])
def run(request, data):
    return unspool.train(
        data, music=request.param, out=data.parent / request.param, epochs=3, transpose=3, **SMALL
    )


def test_it_learns(run) -> None:
    log = [r["valid_nll"] for r in run.metrics() if "valid_nll" in r]
    assert log[-1] < log[0]
    assert run.report.part == "test"
    assert run.report.pieces == 4


def test_the_nll_is_that_of_torch(run, data) -> None:
    """Boulanger-Lewandowski et al. (2012): the sum over keys, the mean over frames; of events, the
    sum over these."""
    task, model = run.task, run.model
    piece = as_piece([[60, 64], [60, 65], [59, 62], [60]], "x")
    part = Part.of(task.fields, music=[piece])
    report = task.evaluate(model, part)
    values = part.collate(np.arange(1))["music"].inputs[0]
    with torch.no_grad():
        logits = model(values[:, :-1]).logits
    if task.reads_tokens:
        wanted = F.cross_entropy(logits[0], values[0, 1:], reduction="sum") / 4
    else:
        wanted = F.binary_cross_entropy(logits.sigmoid(), values[:, 1:], reduction="sum") / 3
    assert report.metrics["nll"] == pytest.approx(float(wanted), rel=1e-5)


def test_losses_of_frames_are_those_of_a_loop() -> None:
    torch.manual_seed(1)
    output = KeysOutput(5, 3).double()
    h, x = torch.randn(2, 4, 5).double(), torch.randint(0, 2, (2, 4, 3)).double()
    p = output(h).sigmoid()
    wanted = torch.zeros(2, 4).double()
    for k in range(3):
        wanted -= x[..., k] * p[..., k].log() + (1 - x[..., k]) * (1 - p[..., k]).log()
    torch.testing.assert_close(output.losses(h, x), wanted)


def test_a_piece_goes_on(run) -> None:
    begun = [[60, 64, 67]] * 4
    one, same, other = (run.compose(begun, length=20, seed=seed) for seed in (1, 1, 2))
    assert one.given == 4
    assert one.piece.chords()[:4] == begun
    assert len(one.piece) <= 24
    assert one.to_json() == same.to_json() != other.to_json()
    again = as_piece(Midi(None, "x", one.midi()), "x")
    np.testing.assert_array_equal(again.notes, one.piece.notes)
    assert len(run.compose(length=6).piece) in range(1, 8)
    held = run.compose(
        [[60]] * 3, length=0
    )  # what sounds at the end of a prompt is not struck anew
    assert held.piece.notes[:, :3].tolist() == [[0, 3, 60]]
    assert "notes in key" in "\n".join(one.lines(1))
    assert roll_svg(one.piece, 4)[-1] == "</svg>"


def test_sampling_of_what_is_most_probable_knows_no_seed(run) -> None:
    begun = [[60, 64, 67]] * 4
    one, other = (run.compose(begun, length=3, temperature=0, seed=seed) for seed in (1, 2))
    assert one.piece.notes.tolist() == other.piece.notes.tolist()


def test_transposed_music_is_the_same_music(run) -> None:
    """In training, targets and inputs alike are moved; a key at the edge of the piano is not."""
    task = run.task
    pieces = [as_piece([[60, 64], [62], []], "x"), as_piece([[21], [108], [21]], "x")]
    values = Part.of(task.fields, music=pieces).collate(np.arange(2))["music"].inputs[0]
    moved = task.music.transposed(values, torch.tensor([2, 0]))
    wanted = Part.of(task.fields, music=[as_piece([[62, 66], [64], []], "x"), pieces[1]])
    torch.testing.assert_close(moved, wanted.collate(np.arange(2))["music"].inputs[0])
    torch.manual_seed(1)
    found = {tuple(task.transposed(values)[0].flatten().tolist()) for _ in range(60)}
    assert len(found) == 7  # 3 down to 3 up
    torch.testing.assert_close(task.transposed(values)[1], values[1])


def test_a_window_at_a_time(data) -> None:
    """Long pieces are learnt from in stretches; the last ends with its piece."""
    loaded = unspool.train(data, music="frames", bptt=16, epochs=1, out=data.parent / "w", **SMALL)
    batches = loaded.task.batches(loaded.parts["train"], training=True)
    found = [batches.batch(0, step)["music"].lengths for step in range(batches.steps(0))]
    assert max(int(own.max()) for own in found) == 17
    assert int(torch.cat(found).sum()) - len(torch.cat(found)) == 32 * 4 * 16


def test_the_command_line(run, tmp_path) -> None:
    runner, prompt, out = CliRunner(), tmp_path / "begun.mid", tmp_path / "a.mid"
    prompt.write_bytes(as_piece([[60, 64, 67]] * 4, "x").midi())
    asked = ["generate", str(run.path), "--prompt", str(prompt), "--length", "8"]
    made = runner.invoke(app, [*asked, "--out", str(out), "--picture", str(tmp_path / "a.png")])
    assert made.exit_code == 0, made.output
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert as_piece(out, "x").chords()[:4] == [[60, 64, 67]] * 4
    assert '"data_numbers": {"in_key"' in runner.invoke(app, [*asked, "--json"]).stdout
    prompt.write_bytes(b"MThd")
    refused = runner.invoke(app, asked)
    assert isinstance(refused.exception, DataError)
    assert "begun.mid: a damaged MIDI file" in str(refused.exception)


def test_what_is_refused(run, data) -> None:
    with pytest.raises(ConfigError, match="length must be 0 or more"):
        Composing(length=-1)
    with pytest.raises(ConfigError, match="may not read in both directions"):
        unspool.train(data, model="bilstm", quiet=True)
    with pytest.raises(DataError, match=r"is not (music|a music event)"):
        run.compose("some text")
    if not run.task.reads_tokens:
        with pytest.raises(ConfigError, match="top-p is for one of many"):
            run.compose(length=4, top_p=0.5)


def test_music_is_no_text(data) -> None:
    with pytest.raises(DataError, match=r"holds music, and generate learns texts"):
        unspool.train(data, task="generate", quiet=True)
    with pytest.raises(DataError, match="no music was found"):
        unspool.train(["a text", "another"], task="compose", quiet=True)
