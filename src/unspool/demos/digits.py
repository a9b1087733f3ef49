"""Digits spoken by a synthesiser of a few lines: strings of them become text.

A voice is a pitch and a size of the throat. A digit is some phones: voiced ones are harmonics of
the pitch under three formants, others are noise in a band. Nobody marks where a digit begins.
"""

from __future__ import annotations

import math
import tempfile
import wave
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unspool.api.train import train
from unspool.insight.plots import lattice_figure
from unspool.io.pictures import save_picture
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

RATE = 8000
STRINGS = 260
EPOCHS = 15


class Phone(NamedTuple):
    """Seconds; formants in Hz, or none; the middle of a band of noise in Hz, or 0; loudness."""

    seconds: float
    formants: tuple[float, ...] = ()
    noise: float = 0.0
    loud: float = 1.0


PHONES = {
    "a": Phone(0.09, (730, 1090, 2440)), "A": Phone(0.11, (660, 1200, 2400)),
    "e": Phone(0.09, (530, 1840, 2480)), "i": Phone(0.08, (400, 1990, 2550)),
    "I": Phone(0.12, (280, 2250, 2900)), "o": Phone(0.10, (570, 840, 2410)),
    "O": Phone(0.10, (450, 900, 2300)), "u": Phone(0.12, (300, 870, 2240)),
    "w": Phone(0.06, (300, 650, 2200), loud=0.6), "r": Phone(0.06, (420, 1300, 1600), loud=0.6),
    "n": Phone(0.08, (250, 1400, 2500), loud=0.4),
    "v": Phone(0.06, (280, 1100, 2300), 1500, 0.3),
    "z": Phone(0.08, (280, 1500, 2500), 3400, 0.4),
    "s": Phone(0.10, (), 3500, 0.5), "f": Phone(0.08, (), 2200, 0.2),
    "T": Phone(0.08, (), 2800, 0.2), "t": Phone(0.04, (), 3000, 0.6),
    "k": Phone(0.04, (), 1700, 0.5), ".": Phone(0.04, (), 0, 0.0),
}  # fmt: skip
DIGITS = ("zirOu", "waAn", ".tu", "TrI", "foOr", "faiv", "si.ks", "sevAn", "eI.t", "nain")


class Voice(NamedTuple):
    """Pitch in Hz, size of formants, pace, and how loud the noise around is."""

    pitch: float
    size: float
    pace: float
    hiss: float


def voice(rng: np.random.Generator) -> Voice:
    high = rng.random()
    return Voice(
        90 + 130 * high, 0.92 + 0.22 * high, rng.uniform(0.8, 1.25), rng.uniform(0.005, 0.05)
    )


def speak(digits: str, who: Voice, rng: np.random.Generator) -> np.ndarray:
    """(N,) samples between -1 and 1: the digits with short breaks, in a little noise."""
    parts = [silence(rng)]
    for digit in digits:
        phones = [PHONES[name] for name in DIGITS[int(digit)]]
        parts += [word(phones, who, rng), silence(rng)]
    sound = np.concatenate(parts)
    sound = 0.5 * sound / max(1e-9, float(np.abs(sound).max()))
    return np.clip(sound + who.hiss * rng.normal(size=len(sound)), -1, 1)


def silence(rng: np.random.Generator) -> np.ndarray:
    return np.zeros(int(RATE * rng.uniform(0.03, 0.15)))


def word(phones: list[Phone], who: Voice, rng: np.random.Generator) -> np.ndarray:
    """Phones one after the other; formants, loudness and noise glide from one to the next."""
    sizes = [int(RATE * phone.seconds * who.pace * rng.uniform(0.85, 1.2)) for phone in phones]
    middles = np.cumsum(sizes) - np.array(sizes) / 2
    t = np.arange(sum(sizes))

    def glide(values: list[float]) -> np.ndarray:
        return np.interp(t, middles, values)

    voiced = glide([phone.loud if phone.formants else 0.0 for phone in phones])
    pitch = who.pitch * rng.uniform(0.9, 1.1) * (1.08 - 0.16 * t / len(t))
    phase = 2 * math.pi * np.cumsum(pitch) / RATE
    harmonics = np.arange(1, int(3800 / who.pitch) + 1)[:, None]
    f = harmonics * pitch
    last = next((phone.formants for phone in phones if phone.formants), (500.0, 1500.0, 2500.0))
    tracks = []
    for phone in phones:
        last = phone.formants or last
        tracks.append(last)
    power = np.zeros_like(f)
    for number, width in enumerate((90, 120, 180)):
        middle = who.size * glide([phone[number] for phone in tracks])
        power += (0.8**number) / (1 + ((f - middle) / width) ** 2)
    sound = voiced * (power * np.sin(harmonics * phase)).sum(0)
    for i, phone in enumerate(phones):
        if phone.noise:
            level = glide([phone.loud if j == i else 0.0 for j in range(len(phones))])
            sound += 3 * level * band(phone.noise, len(t), rng)
    fade = np.minimum(1, np.minimum(t, t[::-1]) / (0.008 * RATE))
    return sound * fade


def band(middle: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Noise around a frequency."""
    spectrum = np.fft.rfft(rng.normal(size=size))
    f = np.fft.rfftfreq(size, 1 / RATE)
    return np.fft.irfft(spectrum * np.exp(-(((f - middle) / 500) ** 2)), size)


def write_wav(path: Path, sound: np.ndarray) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((32767 * sound).astype("<i2").tobytes())


def write_strings(folder: Path, count: int, seed: int = 1) -> None:
    """Recordings of 3 to 6 digits, each by a voice of its own, and a table of what they say."""
    rng = np.random.default_rng(seed)
    lines = ["file,text"]
    for number in range(count):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(3, 7))))
        write_wav(folder / f"{number:03}.wav", speak(digits, voice(rng), rng))
        lines.append(f"{number:03}.wav,{digits}")
    (folder / "texts.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(write: Callable[[str], None]) -> None:
    from rich.console import Console

    with tempfile.TemporaryDirectory() as scratch:
        folder, new = Path(scratch) / "strings", Path(scratch) / "new.wav"
        folder.mkdir()
        write_strings(folder, STRINGS)
        rng = np.random.default_rng(9)
        write_wav(new, speak("271828", voice(rng), rng))
        write("Which digits were spoken? Every recording has a voice of its own:")
        write("")
        trained = train(
            folder, task="transcribe", model="bilstm", test_share=0.15, note=write,
            watcher=Printed(Console(stderr=True)), out=free_folder("demo", "digits"),
            hidden=64, layers=1, epochs=EPOCHS, lr=6e-3, batch=8,
        )  # fmt: skip
        for line in trained.report.lines() if trained.report else []:
            write(line)
        answer = trained.predict([new])[0]
        write("")
        write(f"somebody says 271828, and the model writes {answer.text}")
        for token in answer.tokens:
            write(f"  {token.text}  {token.start:5.2f} s   confidence {token.confidence:.3f}")
        field = trained.task.input_field
        frames = field.recording(new, "new.wav")
        lattice = trained.task.reading(trained.model, frames).answer.lattice()
    assert lattice is not None
    picture = trained.path / "lattice.png"
    title = f"A new recording: {lattice.text}"
    save_picture(lattice_figure(frames, field.source.duration, lattice, title=title), picture)
    write(f"picture: {picture}")
    write("")
    write("Next:")
    write(f"  unspool look {trained.path}   hear others, and see what is written where")
    write(f"  unspool serve {trained.path}   over HTTP, with a page at localhost:8000")
    write(f"  unspool summary {trained.path}")
    write("  unspool train FOLDER --task transcribe   your own recordings, with a table file,text")
