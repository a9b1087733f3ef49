"""transcribe and classify on small recordings of tones: learning, searching, answers, windows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import unspool
from tones import PITCHES, RATE, tones, wav, write_labels, write_texts
from unspool.config import DataConfig
from unspool.errors import ConfigError, DataError
from unspool.nn.models.transcriber import Transcriber
from unspool.nn.reduction import StackedFrames
from unspool.tasks.planner import open_plan
from unspool.tasks.transcribe.answer import (
    Confidence,
    Transcribing,
    calibration_error,
    fit_confidence,
)
from unspool.tasks.transcribe.language import LanguageScores
from unspool.tasks.transcribe.report import counted, edits
from unspool.tasks.transcribe.windows import overlapping

SMALL = {"hidden": 24, "layers": 1, "epochs": 30, "lr": 1e-2, "batch": 8, "threads": 1, "bands": 16}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_texts(tmp_path_factory.mktemp("tones") / "tones", 60)


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory) -> unspool.Run:
    out = tmp_path_factory.mktemp("run") / "run"
    return unspool.train(
        folder, task="transcribe", model="bigru", out=out, test_share=0.2, valid_share=0.2, **SMALL
    )


@pytest.fixture(scope="module")
def new(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("new") / "new.wav"
    path.write_bytes(wav(tones("abca", 999)))
    return path


def test_it_learns_what_tones_say(run) -> None:
    assert run.report.metrics["cer"] < 0.1
    low, high = run.report.to_json()["cer_interval"]
    assert low <= run.report.metrics["cer"] <= high
    lines = "\n".join(run.report.lines())
    assert "prefix beam search of width 10" in lines
    assert "calibrated on the validation part" in lines


def test_answers_have_times_and_confidence(run, new) -> None:
    (answer,) = run.predict(new)
    assert answer.text == "abca"
    starts = [token.start for token in answer.tokens]
    assert starts == sorted(starts)
    assert 0 < starts[0] < starts[-1] < len(tones("abca", 999)) / RATE
    assert 0.5 < answer.confidence <= 1
    assert json.loads(json.dumps(answer.to_json()))["text"] == "abca"
    many = run.predict([new], Transcribing(beam=5, nbest=3))[0]
    assert len(many.candidates) == 3
    scores = [own.score for own in many.candidates]
    assert scores == sorted(scores, reverse=True)


def test_samples_in_memory_are_as_a_file(run, new) -> None:
    sound = np.frombuffer(new.read_bytes()[44:], "<i2")
    of_file, of_memory = run.predict(new)[0], run.predict((sound, RATE))[0]
    assert of_file.tokens == of_memory.tokens


def test_a_loaded_run_answers_the_same(run, new) -> None:
    again = unspool.load(run.path, note=lambda line: None)
    assert again.predict(new)[0].to_json() == run.predict(new)[0].to_json()
    assert again.task.confidence == run.task.confidence


def test_long_recordings_are_read_in_windows(run, tmp_path, monkeypatch) -> None:
    """The text of many tones is that of the tones, whatever the window."""
    text = "abcbacabbcaacbcab" * 4
    path = tmp_path / "long.wav"
    path.write_bytes(wav(tones(text, 5)))
    whole = run.predict(path)[0]
    data = run.config.data.model_copy(update={"window": 120})
    task = type(run.task)(run.config.model_copy(update={"data": data}), run.task.fields)
    monkeypatch.setattr("unspool.tasks.transcribe.search.SEGMENT", 60)
    (cut,) = task.predict(run.model, [path])
    starts = [token.start for token in cut.tokens]
    assert starts == sorted(starts)
    assert starts[-1] > 0.9 * whole.tokens[-1].start
    errors = counted(edits(whole.text, cut.text)).errors
    assert errors <= 3
    assert counted(edits(text, cut.text)).errors <= 0.15 * len(text)


@pytest.mark.parametrize(("window", "patch"), [(0, 3), (120, 3), (100, 1), (64, 8)])
def test_windows_believe_every_step_once(window: int, patch: int) -> None:
    lengths = np.array([5, 64, 119, 120, 121, 500, 13_000])
    windows, kept = overlapping(lengths, window, patch)
    for row, length in enumerate(lengths.tolist()):
        own = windows.origin == row
        steps = [
            step
            for first, (low, high) in zip(windows.first[own], kept[own])
            for step in range(first // patch + low, first // patch + high)
        ]
        assert steps == list(range(-(-length // patch)))
        assert (windows.first[own] % patch == 0).all()


def test_stacking_leaves_no_step_out() -> None:
    x = torch.arange(2 * 7 * 2.0).view(2, 7, 2)
    found, steps = StackedFrames(3)(x, torch.tensor([7, 4]))
    assert found.shape == (2, 3, 6)
    assert steps.tolist() == [3, 2]
    assert found[0].reshape(-1)[:14].tolist() == x[0].reshape(-1).tolist()
    assert found[1, 1].tolist() == [*x[1, 3].tolist(), 0, 0, 0, 0]
    assert not found[1, 2].any()


@pytest.mark.parametrize("model", ["gru", "transformer"])
def test_a_language_model_beside_the_search(run, model, tmp_path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("abc\nbca\n" * 100)
    small = {"heads": 2} if model == "transformer" else {}
    language = unspool.train(
        book, task="generate", model=model, out=tmp_path / "lm", hidden=16, epochs=1, kind="char",
        layers=1, threads=1, batch=4, bptt=8, **small,
    )  # fmt: skip
    tokenizer, own = run.task.target_tokenizer, language.task.tokenizer
    scores = LanguageScores(language, tokenizer)
    found = scores.start(2)
    text = "abcab"
    with torch.inference_mode():
        for i in range(len(text)):
            ids = torch.tensor([own.encode("\n" + text[:i]).tolist()])
            wanted = language.model(ids).logits[0, -1].double().log_softmax(-1)
            for name in "abc":
                at, its = tokenizer.vocab.index[name], own.vocab.index[name]
                assert float(found[1, at]) == pytest.approx(float(wanted[its]), abs=1e-5)
            token = tokenizer.vocab.index[text[i]]
            # The first prefix stays empty, and the second grows.
            new = torch.tensor([False, True])
            found = scores.advance(torch.tensor([0, 1]), new, torch.tensor([0, token]))
    assert float(scores.end()[1]) == pytest.approx(float(scores.next[1, own.vocab.index["\n"]]))
    sound = (tones("abc", 7), RATE)
    heavy = Transcribing(beam=8, lm=language, lm_weight=0.5, bonus=1.0)
    assert run.predict([sound], heavy)[0].text == "abc"
    with pytest.raises(ConfigError, match="a language model is a run of"):
        run.predict([sound], Transcribing(lm=run))


def test_texts_that_do_not_fit_are_named_and_left_out(tmp_path) -> None:
    home = write_texts(tmp_path / "x", 12)
    table = home / "texts.csv"
    lines = table.read_text().splitlines()
    lines[3] = "2.wav," + "abcabc" * 30
    table.write_text("\n".join(lines) + "\n")
    notes: list[str] = []
    unspool.train(
        home, task="transcribe", model="gru", out=tmp_path / "run", note=notes.append,
        valid_share=0, **{**SMALL, "epochs": 1},
    )  # fmt: skip
    (note,) = [note for note in notes if "longer than" in note]
    assert "1 recordings left out of training" in note
    assert "texts.csv:4 (180 steps for" in note
    table.write_text("file,text\n" + "".join(f"{i}.wav,{'ab' * 300}\n" for i in range(12)))
    with pytest.raises(DataError, match="every text is longer than the steps of its recording"):
        unspool.train(home, task="transcribe", out=tmp_path / "other", **SMALL)


def test_characters_never_seen_in_training_are_counted(run, tmp_path) -> None:
    home = write_texts(tmp_path / "x", 4)
    table = home / "texts.csv"
    table.write_text(table.read_text().replace(".wav,", ".wav,é"))
    report = run.evaluate(home)
    assert any("unknown to the vocabulary" in note for note in report.notes)
    assert report.metrics["cer"] > 0.1
    assert {"true": "é", "found": None, "count": 4} in report.to_json()["confusions"]


def test_resampled_and_mixed_recordings_are_said(tmp_path) -> None:
    home = write_texts(tmp_path / "x", 8)
    sound = tones("ab", 3, 16_000)
    (home / "0.wav").write_bytes(wav(np.stack([sound, sound], 1), 16_000))
    notes: list[str] = []
    unspool.train(
        home, task="transcribe", model="gru", out=tmp_path / "run", note=notes.append,
        valid_share=0, **{**SMALL, "epochs": 1},
    )  # fmt: skip
    assert any("resampled to 8,000 Hz: 1 of 16,000 Hz" in note for note in notes)
    assert any("1 recordings of several channels" in note for note in notes)


def test_classify_reads_sound(tmp_path) -> None:
    home = write_labels(tmp_path / "letters", 8)
    run = unspool.train(
        home, model="bigru", out=tmp_path / "run", test_share=0.25, baseline=False,
        **{**SMALL, "epochs": 25},
    )  # fmt: skip
    assert run.report.metrics["accuracy"] > 0.8
    assert run.task.labels == list(PITCHES)
    sound = (tones("b", 77), RATE)
    assert run.predict([sound])[0].label == "b"
    assert run.trace(sound).tokens[:2] == ["0.00 s", "0.01 s"]


def test_series_with_texts_are_transcribed(tmp_path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(30):
        text = "".join(rng.choice(list("ab"), 2))
        steps = [[float(c == "a"), float(c == "b")] for c in text for _ in range(4)]
        rows.append(json.dumps({"series": steps, "text": text}))
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(rows) + "\n")
    small = {name: value for name, value in SMALL.items() if name != "bands"}
    run = unspool.train(
        path, task="transcribe", model="gru", out=tmp_path / "run", **{**small, "epochs": 3}
    )
    assert run.config.data.input == "series"
    assert isinstance(run.model, Transcriber)
    assert run.predict([np.zeros((8, 2))])[0].tokens is not None


def test_confidence_is_calibrated() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.5, 1, 4000)
    right = rng.random(4000) < 0.6 * p + 0.2
    fitted = fit_confidence(p, right)
    assert calibration_error(fitted(p), right) < 0.03 < calibration_error(p, right)
    sure = fit_confidence(np.full(10, 0.9), np.ones(10, bool))
    assert 0.9 < float(sure(np.array([0.9]))[0]) < 1
    assert Confidence()(np.array([0.3]))[0] == pytest.approx(0.3)


def test_edits_as_jiwer_counts_them() -> None:
    jiwer = pytest.importorskip("jiwer")
    rng = np.random.default_rng(2)
    for _ in range(2000):
        truth, found = (
            " ".join("".join(rng.choice(list("abc"), rng.integers(1, 4))) for _ in range(n))
            for n in rng.integers(1, 6, 2)
        )
        own = counted(edits(truth, found))
        assert own.errors / own.size == pytest.approx(jiwer.cer(truth, found))
        words = counted(edits(truth.split(), found.split()))
        assert words.errors / words.size == pytest.approx(jiwer.wer(truth, found))
    assert counted(edits("", "ab")) == (0, 0, 2, 0)
    assert counted(edits("ab", "")) == (0, 2, 0, 2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"beam": 0}, "beam must be from 1"),
        ({"beam": 2, "nbest": 3}, "a beam of 2 cannot give 3 texts"),
        ({"lm_weight": float("nan")}, "lm weight must be a finite number"),
    ],
)
def test_bad_options(options, says) -> None:
    with pytest.raises(ConfigError, match=says):
        Transcribing(**options)


def test_bad_settings(folder) -> None:
    for settings, says in (
        ({"max_length": 9}, "none can be cut"),
        ({"window": 5}, r"data\.window must be at least 24"),
        ({"irregular": "channel"}, r"data\.irregular is a setting of series"),
        ({"features": "mfcc", "bands": 8}, r"data\.coefficients must be at most"),
        ({"features": "mfcc", "band_warp": 0.1}, "band_warp moves bands of a spectrum"),
    ):
        with pytest.raises(ConfigError, match=says):
            unspool.train(folder, task="transcribe", out=folder / "run", **settings)


def test_looking_at_the_lattice(run, new) -> None:
    lattice = run.task.reading(run.model, run.task.input_field.recording(new, "x")).answer.lattice()
    assert lattice.text == "abca"
    assert [place[0] for place in lattice.places] == list("abca")
    assert np.allclose(lattice.probabilities.sum(1), 1)


def test_fine_tuning_starts_from_the_whole_model(run, tmp_path) -> None:
    home, notes = write_texts(tmp_path / "own", 6, seed=8), list[str]()
    tuned = unspool.train(
        home, task="transcribe", start=run.path, out=tmp_path / "run", note=notes.append,
        valid_share=0, epochs=1, lr=1e-6, warmup=0.9, threads=1,
    )  # fmt: skip
    assert any("a vocabulary of" in note for note in notes)
    for name, tensor in run.model.state_dict().items():
        assert torch.allclose(tensor, tuned.model.state_dict()[name], atol=1e-3), name
    assert tuned.task.input_field.source.framing == run.task.input_field.source.framing
    with pytest.raises(ConfigError, match=r"the model to start from has data\.bands=16"):
        unspool.train(home, task="transcribe", start=run.path, out=tmp_path / "b", bands=20)
    table = home / "texts.csv"
    table.write_text(table.read_text().replace(".wav,", ".wav,é"))
    with pytest.raises(DataError, match=r"texts\.csv:2: 6 texts hold what .* got 'é'"):
        unspool.train(
            home, task="transcribe", start=run.path, out=tmp_path / "c", valid_share=0, threads=1
        )


def test_folders_of_labels_are_texts(tmp_path) -> None:
    for i in range(12):
        path = tmp_path / "calls" / "ab"[i % 2] / f"take_{i}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wav(tones("ab"[i % 2], i)))
    plan = open_plan(tmp_path / "calls", DataConfig(), "transcribe")
    assert plan.summary.endswith('text = folder (text="name" for names of files) -> transcribe')
    assert {row.values[1] for row in plan.rows()} == {"a", "b"}
    named = open_plan(tmp_path / "calls", DataConfig(text="name"), "transcribe")
    assert next(named.rows()).values[1] == "take 0"
    for number, path in enumerate(sorted((tmp_path / "calls").rglob("*.wav"))):
        (tmp_path / "each" / str(number)).mkdir(parents=True)  # no label: a folder a recording
        path.rename(tmp_path / "each" / str(number) / path.name)
    single = open_plan(tmp_path / "each", DataConfig(), "transcribe")
    assert "text = name of the file" in single.summary
