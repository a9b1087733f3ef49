"""Sound: recordings classified and transcribed, on public recordings and on read sentences.

    python bench/speech.py                list the rows
    python bench/speech.py yesno          eight words a recording, 45 to learn from, 15 to test
    python bench/speech.py fsdd           digits, a tenth of the recordings held out at random
    python bench/speech.py fsdd-speakers  digits, each of four speakers held out in turn
    python bench/speech.py fsdd-strings   3 to 7 digits of a speaker, joined, with noise
    python bench/speech.py espeak         3,000 sentences read by espeak-ng, with a language model
    python bench/speech.py speed          frames against librosa, training against padding, search
    python bench/speech.py --table

Figures go to bench/results/speech-NAME.json. The test parts are read once, after training. Without
../shared/data (or $UNSPOOL_DATA), or without espeak-ng, a row says so and ends.
UNSPOOL_SENTENCES is how many sentences the row espeak has.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path
from typing import Any

import numpy as np

from rows import DATA, Row, main, size, train, with_interval

FSDD, YESNO = DATA / "speech/fsdd/recordings", DATA / "speech/yesno"
RATE = 8000
HELD = 5  # of the 50 recordings of each digit by each speaker, for strings to test on
STRINGS = {"train": 1000, "test": 200}
VOICES = ["en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-us+m3", "en-gb+f2", "en-us+f1"]
NEW_VOICES = ["en-gb+m7", "en-us+f4"]
SENTENCES = int(os.environ.get("UNSPOOL_SENTENCES", "3000"))


def finished(run: Any, start: float, figure: str, **value: float) -> dict[str, Any]:
    return {
        "model": run.config.model_name,
        "figure": figure,
        "value": value,
        "parameters": size(run),
        "seconds": time.time() - start,
        "report": run.report.lines(),
    }


def transcribed(run: Any, start: float, report: Any = None) -> dict[str, Any]:
    found = report or run.report
    cer, wer = found.metrics["cer"], found.metrics["wer"]
    low, high = found.to_json()["wer_interval"]
    figure = f"CER {100 * cer:.2f} %, WER {100 * wer:.2f} % ({100 * low:.2f} to {100 * high:.2f})"
    return finished(run, start, figure, cer=cer, wer=wer)


def yesno() -> dict[str, Any]:
    start = time.time()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            YESNO, scratch, "run", task="transcribe", model="bilstm", test_share=0.25,
            valid_share=0.0, epochs=40, batch=4, threads=1, precision="auto",
        )  # fmt: skip
        return transcribed(run, start)


def fsdd() -> dict[str, Any]:
    start = time.time()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            FSDD, scratch, "run", pattern="{label}_{speaker}_{n}.wav", model="cnn", test_share=0.1,
            epochs=25, threads=1, precision="auto",
        )  # fmt: skip
        figure = with_interval("accuracy", run.report)
        return finished(run, start, figure, accuracy=run.report.metrics["accuracy"])


def fsdd_speakers() -> dict[str, Any]:
    start = time.time()
    names = sorted({path.stem.split("_")[1] for path in FSDD.glob("*.wav")})
    value = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            parts = {"train": Path(scratch) / f"{name}-train", "test": Path(scratch) / name}
            for part, folder in parts.items():
                folder.mkdir()
                for path in FSDD.glob("*.wav"):
                    if (path.stem.split("_")[1] == name) == (part == "test"):
                        (folder / path.name).symlink_to(path.resolve())
            run = train(
                parts["train"], scratch, f"run-{name}", pattern="{label}_{speaker}_{n}.wav",
                model="cnn", test=parts["test"], group="speaker", epochs=15, threads=1,
            )  # fmt: skip
            value[name] = run.report.metrics["accuracy"]
        mean = float(np.mean(list(value.values())))
        listed = ", ".join(f"{name} {own:.3f}" for name, own in value.items())
        return finished(run, start, f"accuracy {mean:.4f} ({listed})", accuracy=mean, **value)


def read(path: Path) -> np.ndarray:
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float) / 32768


def write(path: Path, sound: np.ndarray) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((32767 * np.clip(sound, -1, 1)).astype("<i2").tobytes())


def write_strings(folder: Path, part: str, rng: np.random.Generator) -> Path:
    """Strings of recordings of one speaker each, with breaks and noise of 10 to 30 dB below."""
    held = {path for path in FSDD.glob("*.wav") if int(path.stem.split("_")[2]) < HELD}
    own = [path for path in sorted(FSDD.glob("*.wav")) if (path in held) == (part == "test")]
    home = folder / part
    home.mkdir()
    by_speaker: dict[str, list[Path]] = {}
    for path in own:
        by_speaker.setdefault(path.stem.split("_")[1], []).append(path)
    lines = ["file,text"]
    for number in range(STRINGS[part]):
        some = by_speaker[str(rng.choice(sorted(by_speaker)))]
        chosen = [some[int(i)] for i in rng.integers(0, len(some), rng.integers(3, 8))]
        parts = []
        for path in chosen:
            sound = read(path)
            parts += [sound / max(1e-6, np.abs(sound).max()), np.zeros(rng.integers(400, 2400))]
        sound = np.concatenate(parts)
        level = np.sqrt((sound**2).mean()) * 10 ** (-rng.uniform(10, 30) / 20)
        write(home / f"{number}.wav", 0.5 * (sound + rng.normal(0, level, len(sound))))
        lines.append(f"{number}.wav,{''.join(path.stem[0] for path in chosen)}")
    (home / "texts.csv").write_text("\n".join(lines) + "\n")
    return home


def fsdd_strings() -> dict[str, Any]:
    start, rng = time.time(), np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as scratch:
        parts = {part: write_strings(Path(scratch), part, rng) for part in STRINGS}
        run = train(
            parts["train"], scratch, "run", task="transcribe", model="bilstm", test=parts["test"],
            epochs=12, threads=1, precision="auto",
        )  # fmt: skip
        return transcribed(run, start)


def sentences() -> list[str]:
    """Distinct captions of multi30k as they are spoken: small letters, spaces and apostrophes."""
    with gzip.open(DATA / "mt/multi30k/train.en.gz", "rt", encoding="utf-8") as file:
        found = [re.sub(r"[^a-z' ]+", " ", line.lower()) for line in file]
    return list(dict.fromkeys(" ".join(line.split()) for line in found if 20 < len(line) < 90))


def speak(text: str, path: Path, voice: str, rng: np.random.Generator) -> None:
    """By espeak-ng, which gives 22,050 Hz."""
    subprocess.run(
        ["espeak-ng", "-v", voice, "-s", str(rng.integers(140, 200)), "-p",
         str(rng.integers(30, 70)), "-w", str(path), text],
        check=True,
    )  # fmt: skip


def read_aloud(folder: Path, texts: list[str], voices: list[str], seed: int) -> Path:
    folder.mkdir()
    rng, lines = np.random.default_rng(seed), ["file,text,voice"]
    for number, text in enumerate(texts):
        voice = str(rng.choice(voices))
        speak(text, folder / f"{number}.wav", voice, rng)
        lines.append(f"{number}.wav,{text},{voice}")
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")
    return folder


def espeak() -> dict[str, Any]:
    from unspool.tasks.transcribe_options import Transcribing

    if shutil.which("espeak-ng") is None:
        sys.exit("skipped: espeak-ng is not installed")
    start, every = time.time(), sentences()
    few = max(10, SENTENCES // 10)
    heard, rest = every[: SENTENCES + 2 * few], every[SENTENCES + 2 * few :]
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        parts = {
            "train": read_aloud(home / "train", heard[:SENTENCES], VOICES, 1),
            "known": read_aloud(home / "known", heard[SENTENCES:][:few], VOICES, 2),
            "new": read_aloud(home / "new", heard[SENTENCES:][few:], NEW_VOICES, 3),
        }
        run = train(
            parts["train"], scratch, "run", task="transcribe", model="bilstm", rate=RATE,
            hidden=192, layers=2, epochs=30, lr=2e-3, threads=1, precision="auto",
        )  # fmt: skip
        book = home / "book.txt"
        book.write_text("\n".join([*rest, *heard[:SENTENCES]]) + "\n")
        language = train(
            book,
            scratch,
            "language",
            task="generate",
            model="lstm",
            hidden=256,
            epochs=3,
            threads=1,
        )
        value = {}
        for name in ("known", "new"):
            for label, options in (
                ("alone", Transcribing()),
                ("with_lm", Transcribing(lm=language, lm_weight=0.6, bonus=1.0)),
            ):
                report = run.evaluate(parts[name], options=options)
                value[f"{name}_{label}_cer"] = report.metrics["cer"]
                value[f"{name}_{label}_wer"] = report.metrics["wer"]
        figure = ", ".join(f"{name} {100 * own:.2f} %" for name, own in value.items())
        return finished(run, start, figure, **value)


def speed() -> dict[str, Any]:
    """Seconds, the best of several runs on one thread."""
    import torch

    from unspool.data.fields.audio_frames import Framing, frames
    from unspool.nn.ctc import ctc_losses
    from unspool.search.ctc import prefix_beam

    torch.set_num_threads(1)
    start = time.time()
    sound = np.random.default_rng(0).normal(size=16_000 * 60).astype(np.float32)
    framing = Framing(16_000)

    def best(function: Any, times: int = 5) -> float:
        taken = []
        for _ in range(times):
            begin = time.perf_counter()
            function()
            taken.append(time.perf_counter() - begin)
        return min(taken)

    value = {"frames_of_a_minute": best(lambda: frames(iter([sound]), 16_000, framing))}
    try:
        import librosa

        def theirs() -> None:
            power = librosa.feature.melspectrogram(
                y=sound, sr=16_000, n_fft=512, win_length=400, hop_length=160, center=False,
                n_mels=40, htk=True, norm=None,
            )  # fmt: skip
            np.log(np.maximum(power, 1e-10))

        value["librosa"] = best(theirs)
    except ImportError:
        pass
    import unspool

    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            YESNO, scratch, "run", task="transcribe", model="bilstm", hidden=128, layers=2,
            epochs=1, threads=1, valid_share=0.0, test_share=0.25,
        )  # fmt: skip
        paths = sorted(YESNO.glob("*.wav"))[:10]
        seconds = sum(len(read(path)) / RATE for path in paths)
        taken = best(lambda: list(run.predict(paths)), 3)
        value["real_time_factor_beam_10"] = taken / seconds
    model = run.model.train()
    lstm = torch.nn.LSTM(model.encoder.input.size, 128, 2, bidirectional=True, batch_first=True)
    plain = torch.nn.ModuleList([torch.nn.Linear(120, model.encoder.input.size), lstm,
                                 torch.nn.Linear(256, 6)])  # fmt: skip
    rng = np.random.default_rng(1)
    lengths = torch.from_numpy(np.sort(rng.integers(100, 900, 16))[::-1].copy())
    x = torch.randn(16, int(lengths.max()), 40)
    targets, sizes = torch.randint(2, 5, (16, 12)), torch.full((16,), 12)

    def ours() -> None:
        model.zero_grad()
        ctc_losses(model(x, lengths), model.steps(lengths), targets, sizes).sum().backward()

    def padded() -> None:
        plain.zero_grad()
        steps = -(-lengths // 3)
        y = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[1] % 3)).view(16, -1, 120)
        log_p = plain[2](lstm(torch.relu(plain[0](y)))[0]).log_softmax(-1)
        ctc_losses(log_p, steps, targets, sizes).sum().backward()

    value["training_step"], value["padded_torch_step"] = best(ours), best(padded)
    log_p = torch.randn(8, 300, 30).log_softmax(-1)
    value["beam_10_of_8_x_300_steps"] = best(
        lambda: prefix_beam(log_p, torch.full((8,), 300), beam=10), 3
    )
    figure = ", ".join(f"{name} {own:.4f}" for name, own in value.items())
    return {
        "model": "bilstm", "figure": figure, "value": value, "parameters": size(run),
        "seconds": time.time() - start, "version": unspool.__version__,
    }  # fmt: skip


ROWS = {
    "yesno": Row("yes and no in Hebrew, eight words a recording, 45 / 15", yesno),
    "fsdd": Row("spoken digits, recordings held out at random, 1,600 / 200", fsdd),
    "fsdd-speakers": Row("spoken digits, each speaker held out in turn", fsdd_speakers),
    "fsdd-strings": Row("strings of 3 to 7 digits with noise, new recordings", fsdd_strings),
    "espeak": Row("sentences read by espeak-ng; unseen sentences, voices apart", espeak),
    "speed": Row("seconds of frames, of training, of a search", speed),
}

if __name__ == "__main__":
    sys.exit(main(ROWS, "speech.py", __doc__, prefix="speech-"))
