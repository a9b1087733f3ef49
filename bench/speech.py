"""Sound: recordings classified and transcribed, on public recordings and on read sentences.

    python bench/speech.py                list the rows
    python bench/speech.py yesno          eight words a recording, 45 to learn from, 15 to test
    python bench/speech.py fsdd           digits, a tenth of the recordings held out at random
    python bench/speech.py fsdd-speakers  digits, each of four speakers held out in turn
    python bench/speech.py fsdd-strings   3 to 7 digits of a speaker, joined, with noise
    python bench/speech.py fsdd-strings-attention, fsdd-strings-hybrid    by other losses
    python bench/speech.py espeak         3,000 sentences read by espeak-ng, with a language model
    python bench/speech.py long           files of half an hour, one and three hours: time, memory
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rows import DATA, Row, main, size, train, with_interval

FSDD, YESNO = DATA / "speech/fsdd/recordings", DATA / "speech/yesno"
RATE = 8000
HELD = 5  # of the 50 recordings of each digit by each speaker, for strings to test on
DIGITS: dict[str, Any] = {
    "pattern": "{label}_{speaker}_{n}.wav", "model": "cnn", "epochs": 12, "threads": 1,
    "precision": "auto",
}  # fmt: skip
STRINGS = {"train": 1000, "test": 200}
VOICES = [
    "en-us", "en", "en-gb-scotland", "en-gb-x-rp", "en-us+m1", "en+m2", "en+m3", "en-us+m4",
    "en-us+m6", "en+m8", "en+f1", "en-us+f1", "en-us+f2", "en+f3", "en+Annie", "en-us+Alex",
    "en-us+Mike", "en+belinda", "en-us+linda", "en+steph",
]  # fmt: skip
OTHER_VOICES = ["en-us+m5", "en+f5"]  # the epoch and the language model's weight are chosen by them
NEW_VOICES = ["en+m7", "en-us+f4"]
WEIGHTS = [  # of a language model, and of a token
    (0.3, 0.3), (0.5, 0.5), (0.7, 0.5), (0.7, 1.0), (0.7, 1.5), (0.9, 1.0), (0.9, 1.5), (1.1, 2.0)
]  # fmt: skip
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


def fsdd_parts(folder: Path, test: set[Path]) -> dict[str, Path]:
    """Folders with the recordings to test on, and with the others."""
    parts = {"train": folder / "train", "test": folder / "test"}
    for part, home in parts.items():
        home.mkdir(parents=True)
        for path in FSDD.glob("*.wav"):
            if (path in test) == (part == "test"):
                (home / path.name).symlink_to(path.resolve())
    return parts


def fsdd() -> dict[str, Any]:
    start, every = time.time(), sorted(FSDD.glob("*.wav"))
    held = np.random.default_rng(1).permutation(len(every))[: len(every) // 10]  # of every seed
    with tempfile.TemporaryDirectory() as scratch:
        parts = fsdd_parts(Path(scratch), {every[i] for i in held})
        run = train(parts["train"], scratch, "run", test=parts["test"], **DIGITS)
        figure = with_interval("accuracy", run.report)
        return finished(run, start, figure, accuracy=run.report.metrics["accuracy"])


def fsdd_speakers() -> dict[str, Any]:
    start, every = time.time(), sorted(FSDD.glob("*.wav"))
    value = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in sorted({path.stem.split("_")[1] for path in every}):
            own = {path for path in every if path.stem.split("_")[1] == name}
            parts = fsdd_parts(Path(scratch) / name, own)
            run = train(parts["train"], scratch, f"run-{name}", test=parts["test"], **DIGITS)
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


def fsdd_strings(objective: str = "ctc") -> dict[str, Any]:
    start, rng = time.time(), np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as scratch:
        parts = {part: write_strings(Path(scratch), part, rng) for part in STRINGS}
        run = train(
            parts["train"], scratch, "run", task="transcribe", model="bilstm", test=parts["test"],
            objective=objective, epochs=12 if objective == "ctc" else 30, threads=1,
            precision="auto",
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


def refuse_equal_voices(folder: Path) -> None:
    """A variant that a voice does not have is left aside without a word: its sound is another's."""
    spoken: dict[bytes, str] = {}
    for voice in VOICES + OTHER_VOICES + NEW_VOICES:
        path = folder / f"{voice}.wav"
        speak("a man in a blue shirt", path, voice, np.random.default_rng(0))
        if (same := spoken.setdefault(path.read_bytes(), voice)) != voice:
            sys.exit(f"espeak-ng speaks {voice} as {same}: name other voices")


def espeak() -> dict[str, Any]:
    from unspool.tasks.transcribe.answer import Transcribing

    if shutil.which("espeak-ng") is None:
        sys.exit("skipped: espeak-ng is not installed")
    start, every = time.time(), sentences()
    few = max(15, SENTENCES // 10)
    heard, last = every[: SENTENCES + 2 * few], 2 * few // 3
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        refuse_equal_voices(home)
        parts = {
            "train": read_aloud(home / "train", heard[:SENTENCES], VOICES, 1),
            "known": read_aloud(home / "known", heard[SENTENCES:][:few], VOICES, 2),
            "new": read_aloud(home / "new", heard[SENTENCES:][few:], NEW_VOICES, 3),
            "valid": read_aloud(home / "valid", every[-last:], OTHER_VOICES, 4),
        }
        run = train(
            parts["train"], scratch, "run", task="transcribe", model="bilstm", valid=parts["valid"],
            test_share=0.0, hidden=192, layers=2, epochs=12, lr=3e-3, dropout=0.1, threads=1,
            precision="auto",
        )  # fmt: skip
        book = home / "book.txt"
        book.write_text("\n".join([*every[len(heard) : -last], *heard[:SENTENCES]]) + "\n")
        language = train(
            book, scratch, "language", task="generate", model="lstm", hidden=256, epochs=3,
            valid_share=0.02, test_share=0.02, threads=1, precision="auto",
        )  # fmt: skip
        searches = [
            Transcribing(lm=language, lm_weight=weight, bonus=bonus) for weight, bonus in WEIGHTS
        ]
        on_valid = [run.evaluate(parts["valid"], options=own).metrics["cer"] for own in searches]
        best = searches[int(np.argmin(on_valid))]
        value = {
            "lm_weight": best.lm_weight,
            "bonus": best.bonus,
            "valid_with_lm_cer": min(on_valid),
        }
        for name in ("known", "new"):
            for label, options in (("alone", Transcribing()), ("with_lm", best)):
                report = run.evaluate(parts[name], options=options)
                value[f"{name}_{label}_cer"] = report.metrics["cer"]
                value[f"{name}_{label}_wer"] = report.metrics["wer"]
        figure = ", ".join(
            f"{name} {100 * own:.2f} %" for name, own in value.items() if name.endswith("er")
        )
        return finished(run, start, figure, **value)


HOURS = (0.5, 1.0, 3.0)
READ = """
import sys, time
from pathlib import Path
import unspool
from unspool.tasks.transcribe.answer import Transcribing

def peak():  # in MB; ru_maxrss has the peak of the process that started this one
    (line,) = (own for own in Path("/proc/self/status").open() if own.startswith("VmHWM"))
    return int(line.split()[1]) / 1024

run = unspool.load(sys.argv[1], note=lambda line: None)
before, start = peak(), time.process_time()
(answer,) = run.predict(sys.argv[2], Transcribing(beam=1))
print(time.process_time() - start, before, peak(), len(answer.text))
"""


def long() -> dict[str, Any]:
    """One recording over and over in one file, read by a fresh process; memory has to stay below
    what grows with the frames (40 bands of 4 bytes, 100 a second: 58 MB an hour) and the texts."""
    start = time.time()
    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            YESNO, scratch, "run", task="transcribe", model="bilstm", valid_share=0.0,
            test_share=0.25, epochs=1, batch=4, threads=1,
        )  # fmt: skip
        sound, value = read(sorted(YESNO.glob("*.wav"))[0]), {}
        for hours in HOURS:
            path = Path(scratch) / "long.wav"
            write(path, np.resize(sound, int(3600 * hours * RATE)))
            found = subprocess.run(
                [sys.executable, "-c", READ, str(run.path), str(path)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            seconds, before, after, _ = (float(own) for own in found.stdout.split())
            value |= {f"{hours:g}h_seconds": seconds, f"{hours:g}h_peak_mb": after}
        value["peak_mb_before"] = before
        figure = ", ".join(f"{name} {own:.1f}" for name, own in value.items())
        return finished(run, start, figure, **value)


def speed() -> dict[str, Any]:
    """Seconds of the processor on one thread, the best of several; what is compared takes turns."""
    import torch

    from unspool.data.fields.audio_frames import Framing, frames
    from unspool.nn.ctc import ctc_losses
    from unspool.search.ctc import prefix_beam

    torch.set_num_threads(1)
    start = time.time()
    sound = np.random.default_rng(0).normal(size=16_000 * 60).astype(np.float32)
    framing = Framing(16_000)

    def best(functions: dict[str, Any], times: int = 5) -> dict[str, float]:
        taken: dict[str, list[float]] = {name: [] for name in functions}
        for _ in range(times):
            for name, function in functions.items():
                begin = time.process_time()
                function()
                taken[name].append(time.process_time() - begin)
        return {name: min(own) for name, own in taken.items()}

    both: dict[str, Any] = {"frames_of_a_minute": lambda: frames(iter([sound]), 16_000, framing)}
    try:
        import librosa

        def theirs() -> None:
            power = librosa.feature.melspectrogram(
                y=sound, sr=16_000, n_fft=512, win_length=400, hop_length=160, center=False,
                n_mels=40, htk=True, norm=None,
            )  # fmt: skip
            np.log(np.maximum(power, 1e-10))

        both["librosa"] = theirs
    except ImportError:
        pass
    value = best(both, 20)
    import unspool

    with tempfile.TemporaryDirectory() as scratch:
        run = train(
            YESNO, scratch, "run", task="transcribe", model="bilstm", hidden=128, layers=2,
            epochs=1, threads=1, valid_share=0.0, test_share=0.25,
        )  # fmt: skip
        paths = sorted(YESNO.glob("*.wav"))[:10]
        seconds = sum(len(read(path)) / RATE for path in paths)
        taken = best({"own": lambda: list(run.predict(paths))}, 3)["own"]
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

    value |= best({"training_step": ours, "padded_torch_step": padded})
    log_p = torch.randn(8, 300, 30).log_softmax(-1)
    steps = torch.full((8,), 300)
    value |= best({"beam_10_of_8_x_300_steps": lambda: prefix_beam(log_p, steps, beam=10)}, 3)
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
    "fsdd-strings-attention": Row(
        "the same, written by an attention decoder", partial(fsdd_strings, "attention")
    ),
    "fsdd-strings-hybrid": Row(
        "the same, by both losses together", partial(fsdd_strings, "hybrid")
    ),
    "espeak": Row("sentences read by espeak-ng; unseen sentences, voices apart", espeak),
    "long": Row("seconds and memory of files of half an hour, one and three hours", long),
    "speed": Row("seconds of frames, of training, of a search", speed),
}

if __name__ == "__main__":
    sys.exit(main(ROWS, "speech.py", __doc__, prefix="speech-"))
