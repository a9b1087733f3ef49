"""Sound that comes in chunks: the same frames, log probabilities and text as of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import unspool
from small_tasks import small_settings
from tones import RATE, tones, write_labels, write_texts
from unspool.data.fields.audio_frames import FrameMaker, Framing, frames
from unspool.data.part import Part
from unspool.errors import ConfigError, DataError
from unspool.tasks.transcribe.answer import GREEDY, Transcribing

SMALL = {"hidden": 24, "layers": 1, "epochs": 30, "lr": 1e-2, "batch": 8, "threads": 1, "bands": 16}
CHUNKS = [1, 7, 160, 10**9]
TEXT = "abcbac"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_texts(tmp_path_factory.mktemp("tones") / "tones", 60)


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory) -> unspool.Run:
    out = tmp_path_factory.mktemp("forward") / "forward"
    return unspool.train(
        folder, task="transcribe", model="gru", scaling="channel", out=out, test_share=0.2,
        valid_share=0.2, **SMALL,
    )  # fmt: skip


def chunks(sound: np.ndarray, size: int) -> list[np.ndarray]:
    return [sound[i : i + size] for i in range(0, len(sound), size)]


@pytest.mark.parametrize("size", CHUNKS)
@pytest.mark.parametrize("given", [8000, 11_025, 16_000])
@pytest.mark.parametrize(("window", "hop"), [(25.0, 10.0), (10.0, 15.0)])
def test_frames_as_samples_come(size: int, given: int, window: float, hop: float) -> None:
    framing = Framing(8000, window, hop, 8)
    sound = np.random.default_rng(0).normal(size=3001).astype(np.float32)
    maker = FrameMaker(given, framing)
    state, found, earlier = maker.start(), [], []
    for block in chunks(sound, size):
        earlier.append(state)
        new, state = maker.extend(state, block)
        found.append(new)
    found.append(maker.finish(state))
    whole = frames(iter([sound]), given, framing)
    assert np.concatenate(found).shape == whole.shape
    assert np.allclose(np.concatenate(found), whole, atol=1e-4)
    # A frame is there with its last sample.
    if given == 8000 and size == 1:
        w, h = framing.window_samples, framing.hop_samples
        made = [len(new) for new in found[:-1]]
        wanted = [(n + 1 - w) % h == 0 and n + 1 >= w for n in range(len(sound))]
        assert made == [int(own) for own in wanted]
        assert earlier[0].made == 0, "a state is never changed"


def recorded(run, monkeypatch) -> list[torch.Tensor]:
    """The log probabilities of every chunk, as the model gives them."""
    found: list[torch.Tensor] = []
    extend = type(run.model).extend

    def keep(self, carried, values, lengths):
        read = extend(self, carried, values, lengths)
        found.append(read.scores)
        return read

    monkeypatch.setattr(type(run.model), "extend", keep)
    return found


@pytest.mark.parametrize("size", CHUNKS)
@pytest.mark.parametrize("rate", [8000, 16_000])
def test_a_stream_is_the_whole(run, size, rate, monkeypatch) -> None:
    sound = tones(TEXT, 77, rate)[: rate * 4 // 5 + 13]
    (whole,) = run.predict((sound, rate), GREEDY)
    field = run.task.input_field
    part = Part.of(run.task.fields, audio=[field.recording((sound, rate), "item")])
    with torch.inference_mode():
        wanted = run.model(*part.collate(np.array([0]))["audio"].inputs).log_p
    found = recorded(run, monkeypatch)
    stream = run.stream()
    answers = [stream.push((block, rate)) for block in chunks(sound, size)]
    assert stream.steps <= len(field.recording((sound, rate), "item"))
    answers.append(stream.finish())
    assert stream.steps == len(field.recording((sound, rate), "item"))
    log_p = torch.cat(found, 1)
    assert log_p.shape == wanted.shape
    assert torch.allclose(log_p, wanted, atol=2e-5)
    assert "".join(answer.text for answer in answers) == whole.text != ""
    tokens = [token for answer in answers for token in answer.tokens]
    assert [own.text for own in tokens] == [own.text for own in whole.tokens]
    mine, its = (np.array([own[1:] for own in tokens]), np.array([own[1:] for own in whole.tokens]))
    assert np.allclose(mine, its, atol=1e-5)
    if size == 160:
        assert sum(bool(answer.text) for answer in answers) > 2, "the text grows"


def test_the_state_is_kept_and_set(run) -> None:
    sound = tones(TEXT, 78)
    stream, other = run.stream(), run.stream()
    stream.push((sound[:4000], RATE))
    kept = stream.state
    first = stream.push((sound[4000:], RATE)), stream.finish()
    other.state = kept
    assert (other.push((sound[4000:], RATE)), other.finish()) == first
    stream.restart()
    assert stream.steps == 0
    assert stream.finish().text == ""


def test_short_and_silent_sound(run) -> None:
    """What is shorter than a window is one frame; silence at the beginning is read."""
    stream = run.stream()
    assert stream.push((np.zeros(0, np.float32), RATE)).tokens == []
    stream.push((np.full(50, 0.5, np.float32), RATE))
    assert stream.steps == 0
    stream.finish()
    assert stream.steps == 1
    stream.restart()
    stream.push((np.zeros(RATE, np.float32), RATE))
    assert stream.steps == 98


def test_other_rates_and_no_sound_are_refused(run) -> None:
    stream = run.stream()
    stream.push((np.ones(8000, np.float32), RATE))
    with pytest.raises(DataError, match="frame 99: sound of 8,000 Hz goes on with another rate"):
        stream.push((np.ones(80, np.float32), 16_000))
    with pytest.raises(DataError, match="is not a recording of sound"):
        stream.push([1.0, 2.0, 3.0])


def test_searches_that_wait_for_the_end_are_refused(run) -> None:
    with pytest.raises(ConfigError, match=r"transcribed by the best path.*width 4"):
        run.stream(Transcribing(beam=4))


@pytest.mark.parametrize(
    ("model", "settings", "reason"),
    [
        ("bigru", {"scaling": "channel"}, "in both directions"),
        ("transformer", {"scaling": "channel", "heads": 2}, "all steps of a sequence at once"),
        ("cnn", {"scaling": "channel"}, "its filters read steps after their own"),
        ("gru", {}, "scaling=series takes mean and deviation of a whole series"),
    ],
)
def test_what_looks_ahead_is_refused(folder, model, settings, reason, tmp_path) -> None:
    small = small_settings("transcribe", model, {**SMALL, "epochs": 1, **settings}, input="audio")
    own = unspool.train(folder, task="transcribe", model=model, out=tmp_path / "run", **small)
    with pytest.raises(ConfigError, match=f"cannot be read step by step: .*{reason}"):
        own.stream()


def test_labels_of_sound_that_comes(tmp_path) -> None:
    """The other tasks of sound, by the same frames."""
    own = unspool.train(
        write_labels(tmp_path / "letters"), task="classify", model="gru", scaling="channel",
        out=tmp_path / "run", **{**SMALL, "epochs": 4},
    )  # fmt: skip
    sound = tones("b", 5)
    (whole,) = own.predict((sound, RATE))
    stream = own.stream()
    for block in chunks(sound, 500):
        answer = stream.push((block, RATE))
    assert stream.finish() is None
    assert answer.label == whole.label
    assert answer.probability == pytest.approx(whole.probability, abs=1e-5)
