"""Small recordings of sound for tests: tones, a letter each."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

RATE = 8000
PITCHES = {"a": 400.0, "b": 900.0, "c": 1700.0}


def tones(text: str, seed: int = 0, rate: int = RATE) -> np.ndarray:
    """(N,) a tone for each letter, with breaks, in noise."""
    rng = np.random.default_rng(seed)
    parts = [np.zeros(int(0.05 * rate))]
    for letter in text:
        t = np.arange(int(rate * rng.uniform(0.08, 0.12))) / rate
        parts.append(0.4 * np.sin(2 * np.pi * PITCHES[letter] * rng.uniform(0.95, 1.05) * t))
        parts.append(np.zeros(int(rate * rng.uniform(0.04, 0.08))))
    found = np.concatenate(parts)
    return (found + rng.normal(0, 0.01, len(found))).astype(np.float32)


def wav(sound: np.ndarray, rate: int = RATE, bits: int = 16, *, floats: bool = False) -> bytes:
    """A WAV file of samples (N,) or (N, channels)."""
    x = np.clip(sound, -1, 1)
    x = x[:, None] if x.ndim == 1 else x
    if floats:
        data = x.astype(f"<f{bits // 8}").tobytes()
    elif bits == 8:
        data = np.round(x * 127 + 128).astype(np.uint8).tobytes()
    elif bits == 24:
        whole = np.round(x * (2**23 - 1)).astype("<i4").reshape(-1, 1).view(np.uint8)
        data = whole.reshape(-1, 4)[:, :3].tobytes()
    else:
        data = np.round(x * (2.0 ** (bits - 1) - 1)).astype(f"<i{bits // 8}").tobytes()
    step = x.shape[1] * bits // 8
    kind = struct.pack("<HHIIHH", 3 if floats else 1, x.shape[1], rate, rate * step, step, bits)
    chunks = b"fmt " + struct.pack("<I", 16) + kind + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def texts(count: int, seed: int = 1, longest: int = 4) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(PITCHES), rng.integers(1, longest + 1))) for _ in range(count)]


def write_texts(folder: Path, count: int, seed: int = 1) -> Path:
    """Recordings and a table of what they say."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["file,text"]
    for i, text in enumerate(texts(count, seed)):
        (folder / f"{i}.wav").write_bytes(wav(tones(text, 100 * seed + i)))
        lines.append(f"{i}.wav,{text}")
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")
    return folder


def write_labels(folder: Path, each: int = 6) -> Path:
    """A folder for each letter."""
    for number, letter in enumerate(PITCHES):
        (folder / letter).mkdir(parents=True, exist_ok=True)
        for i in range(each):
            sound = tones(letter, 10 * number + i)
            (folder / letter / f"{letter}_{'xy'[i % 2]}_{i}.wav").write_bytes(wav(sound))
    return folder
