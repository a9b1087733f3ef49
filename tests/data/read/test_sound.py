"""Files of sound: every kind of WAV, other formats, broken ones, and how folders are read."""

from __future__ import annotations

import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tones import RATE, tones, wav, write_labels, write_texts
from unspool.config import DataConfig
from unspool.data.fields.audio import AudioSource
from unspool.data.fields.audio_frames import Framing
from unspool.data.fields.vectors import VectorField
from unspool.data.read import open_table
from unspool.data.read.sound import AudioInfo, Sound, as_sound, wav_of
from unspool.errors import ConfigError, DataError


def samples(path: Path) -> np.ndarray:
    return np.concatenate(list(Sound(path, path.name).blocks(1000)))


@pytest.mark.parametrize(
    ("bits", "floats", "exact"),
    [(8, False, 1 / 100), (16, False, 1e-4), (24, False, 1e-6), (32, False, 1e-6),
     (32, True, 1e-7), (64, True, 1e-7)],
)  # fmt: skip
def test_every_kind_of_wav(bits: int, floats: bool, exact: float, tmp_path: Path) -> None:
    sound = tones("ab")
    path = tmp_path / "x.wav"
    path.write_bytes(wav(sound, 22_050, bits, floats=floats))
    assert Sound(path, "x").info() == AudioInfo(22_050, 1)
    assert np.abs(samples(path) - sound).max() < exact


def test_channels_are_mixed(tmp_path: Path) -> None:
    sound = tones("ab")
    path = tmp_path / "x.wav"
    path.write_bytes(wav(np.stack([sound, 0 * sound, -sound, 0.5 * sound], 1)))
    assert Sound(path, "x").info().channels == 4
    assert np.abs(samples(path) - sound / 8).max() < 1e-4


def test_extensible_headers_other_chunks_and_unknown_sizes(tmp_path: Path) -> None:
    sound = tones("a")
    content = wav(sound)
    data = content[44:]
    guid = struct.pack("<H", 1) + bytes(14)
    extra = struct.pack("<HHI", 22, 16, 4) + guid
    fmt = struct.pack("<HHIIHH", 0xFFFE, 1, RATE, 2 * RATE, 2, 16) + extra
    chunks = b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"fmt " + struct.pack("<I", len(fmt))
    path = tmp_path / "x.wav"
    for size in (len(data), 0xFFFFFFFF, 0):
        path.write_bytes(
            b"RIFF\xff\xff\xff\xffWAVE" + chunks + fmt + b"data" + struct.pack("<I", size) + data
        )
        assert np.array_equal(samples(path), np.frombuffer(data, "<i2") / np.float32(32768))


@pytest.mark.parametrize("ending", ["flac", "ogg"])
def test_other_formats(ending: str, tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    sound, path = tones("abc"), tmp_path / f"x.{ending}"
    soundfile.write(path, sound, RATE)
    assert Sound(path, "x").info() == AudioInfo(RATE, 1)
    assert np.abs(samples(path) - sound).max() < (0.2 if ending == "ogg" else 1e-4)
    soundfile.write(path.with_suffix(".au"), sound, 50)
    with pytest.raises(DataError, match=r"x\.au: is a broken file of sound; got '50 samples a"):
        Sound(path.with_suffix(".au"), "x.au").info()
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=rf"x\.{ending}: cannot be decoded"):
        Sound(path, f"x.{ending}").info()


PROBE = """
import sys
from pathlib import Path
from unspool.data.read.sound import Sound
from unspool.errors import DataError
try:
    Sound(Path(sys.argv[1]), "x.mp3").info()
except DataError as error:
    print(error)
"""


def test_mp3(tmp_path: Path) -> None:
    """Such files begin with a delay, so what is compared is the sound at its best shift."""
    soundfile = pytest.importorskip("soundfile")
    sound, path = tones("abc"), tmp_path / "x.mp3"
    if "MP3" not in soundfile.available_formats():
        pytest.skip("this libsndfile cannot write MP3")
    soundfile.write(path, sound, RATE, format="MP3")
    assert Sound(path, "x").info() == AudioInfo(RATE, 1)
    found = samples(path)
    assert abs(len(found) - len(sound)) < 0.2 * RATE
    size = 1 << (len(found) + len(sound)).bit_length()
    both = np.fft.irfft(np.fft.rfft(found, size) * np.fft.rfft(sound, size).conj())
    assert both.max() > 0.95 * np.linalg.norm(found) * np.linalg.norm(sound)
    path.write_bytes(b"ID3junk" * 50)
    for closed in ("", "2>&-"):
        command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", PROBE, path]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ended.stdout.startswith("x.mp3: cannot be decoded (damaged). Copy it again")
        assert ended.stderr == "", "libmpg123 writes there by itself"


@pytest.mark.parametrize(("ending", "container"), [("m4a", "mp4"), ("aac", "adts")])
def test_aac(ending: str, container: str, tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    sound, path = tones("abc", rate=16_000), tmp_path / f"x.{ending}"
    with av.open(str(path), "w", format=container) as file:
        stream = file.add_stream("aac", rate=16_000, layout="stereo")
        frame = av.AudioFrame.from_ndarray(np.stack([sound, sound]), "fltp", "stereo")
        frame.sample_rate = 16_000
        file.mux([*stream.encode(frame), *stream.encode(None)])
    assert Sound(path, "x").info() == AudioInfo(16_000, 2)
    decoded = samples(path)
    assert abs(len(decoded) - len(sound)) < 4096
    size = 1 << (len(decoded) + len(sound)).bit_length()
    both = np.fft.irfft(np.fft.rfft(decoded, size) * np.fft.rfft(sound, size).conj())
    assert both.max() > 0.95 * np.linalg.norm(decoded) * np.linalg.norm(sound)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=rf"x\.{ending}: cannot be decoded"):
        Sound(path, f"x.{ending}").info()


@pytest.mark.parametrize("ending", ["flac", "ogg", "mp3"])
def test_frames_of_other_formats(ending: str, tmp_path: Path) -> None:
    """As of the WAV file, but for what a lossy format leaves out; a file of two channels and
    another rate."""
    soundfile = pytest.importorskip("soundfile")
    if ending.upper() not in soundfile.available_formats():
        pytest.skip(f"this libsndfile cannot write {ending}")
    sound = tones("abc", rate=16_000)
    path = tmp_path / f"x.{ending}"
    soundfile.write(path, np.stack([sound, sound], 1), 16_000)
    field = VectorField("audio", AudioSource(Framing(8000, bands=8)), scaling="none")
    own, plain = (field.recording(each, "x").values for each in (path, (sound, 16_000)))
    if ending == "mp3":  # its delay is not a multiple of a hop
        assert abs(len(own) - len(plain)) < 20
        return
    assert own.shape == plain.shape
    loud = plain > np.quantile(plain, 0.8)
    assert np.abs(own - plain)[loud].mean() < (0.3 if ending == "ogg" else 1e-2)


GOOD = wav(tones("a"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "x.wav: the file is empty"),
        (b"hello, I am a text", r"x.wav: is not a WAV file, though .*it begins with .*hello"),
        (GOOD[:30], "x.wav: is a broken WAV file"),
        (GOOD[:44], "x.wav: is a broken WAV file: it ends after 0 of"),
        (GOOD[:1000], "x.wav: is a broken WAV file: it ends after 478 of"),
        (GOOD[:20] + b"\7\0" + GOOD[22:], "x.wav: is a WAV file of a kind .*format 7"),
        (GOOD[:22] + bytes(2) + GOOD[24:], "x.wav: is a broken WAV file; got '0 channels"),
        (GOOD[:24] + b"\1\0\0\0" + GOOD[28:], "x.wav: is a broken WAV file; .*, 1 samples"),
        (wav(np.zeros((0, 1))), "x.wav: holds no samples"),
        (wav(tones("a"), bits=32, floats=True)[:44] + b"\0\0\xc0\x7f" + bytes(
            len(wav(tones("a"), bits=32, floats=True)) - 48), "x.wav: sample 1 is not a finite"),
    ],
)  # fmt: skip
def test_broken_files(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says):
        list(Sound(path, "x.wav").blocks())


def test_channels_that_are_infinite_each_another_way(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    head = wav(np.zeros((2, 2)), bits=64, floats=True)[:-32]
    path.write_bytes(head + np.array([[np.inf, -np.inf], [1e300, 0]]).tobytes())
    with pytest.raises(DataError, match=r"x\.wav: sample 1 is not a finite number"):
        list(Sound(path, "x.wav").blocks())
    path.write_bytes(head + bytes.fromhex("010000000000f07f") * 4)  # a NaN that signals
    with pytest.raises(DataError, match=r"x\.wav: sample 1 is not a finite number"):
        list(Sound(path, "x.wav").blocks())


def test_a_missing_file_names_a_near_one(tmp_path: Path) -> None:
    (tmp_path / "right.wav").write_bytes(GOOD)
    with pytest.raises(DataError, match=r"no such file\. Did you mean .*right\.wav"):
        Sound(tmp_path / "rigth.wav", "rigth.wav").info()


def test_sound_in_memory() -> None:
    whole = as_sound((np.array([0, 16384, -32768], np.int16), 8000), "x")
    assert np.array_equal(np.concatenate(list(whole.blocks())), [0, 0.5, -1])
    with pytest.raises(DataError, match="item 3: a dict is not a recording of sound"):
        as_sound({}, "item 3")
    for rate in (1, 0, float("nan"), float("inf")):
        with pytest.raises(DataError, match="item 3: a tuple is not a recording of sound"):
            as_sound((np.zeros(9), rate), "item 3")


def columns(path: Path, **settings: str) -> dict[str, list]:
    table = open_table(str(path), DataConfig(**settings))
    return {column.name: column.sample for column in table.columns}


def test_a_folder_for_each_label(tmp_path: Path) -> None:
    found = columns(write_labels(tmp_path / "x", 2))
    assert found["folder"] == ["a", "a", "b", "b", "c", "c"]
    assert found["name_2"] == ["x", "y"] * 3
    assert found["audio"][0].name.endswith("a/a_x_0.wav")


def test_a_compressed_recording(tmp_path: Path) -> None:
    path = sorted(write_labels(tmp_path / "x", 2).rglob("*.wav"))[0]
    packed = tmp_path / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (plain,), (unpacked,) = columns(path)["audio"], columns(packed)["audio"]
    assert unpacked.name == str(packed)
    assert np.array_equal(*(np.concatenate(list(own.blocks())) for own in (plain, unpacked)))


def test_a_pattern_of_names(tmp_path: Path) -> None:
    home = write_labels(tmp_path / "x", 2)
    found = columns(home, pattern="{label}_{speaker}_{n}.wav")
    assert found["label"] == ["a", "a", "b", "b", "c", "c"]
    assert found["speaker"] == ["x", "y"] * 3
    found = columns(home, pattern="{first}/{text}")
    assert found["first"] == found["folder"]
    assert found["text"] == found["name"]
    with pytest.raises(
        DataError, match=r"a_x_0\.wav: its name does not fit the pattern \{n\}-\{m\}"
    ):
        columns(home, pattern="{n}-{m}")
    with pytest.raises(ConfigError, match=r"data\.pattern needs names in braces"):
        columns(home, pattern="label_n")


def test_the_table_of_a_folder_is_read_unless_a_pattern_is_set(tmp_path: Path) -> None:
    home = write_texts(tmp_path / "x", 3)
    assert list(columns(home)) == ["file", "text"]
    assert "n" in columns(home, pattern="{n}.wav")
    (home / "more.csv").write_text((home / "texts.csv").read_text())
    with pytest.raises(DataError, match=r"several tables of recordings \(more.csv, texts.csv\)"):
        columns(home)


def test_few_sounds_beside_many_texts_are_not_read(tmp_path: Path) -> None:
    for name in ("good", "bad", "fine"):
        (tmp_path / f"{name}.txt").write_text("one\ntwo\n")
    (tmp_path / "x.wav").write_bytes(GOOD)
    assert list(columns(tmp_path)) == ["text", "label"]


@pytest.mark.parametrize(
    ("bits", "floats", "channels", "kept"),
    [(16, False, 1, 16), (8, False, 1, 16), (24, False, 1, 32), (32, True, 1, 32),
     (16, False, 2, 32)],
)  # fmt: skip
def test_written_again_sample_for_sample(bits, floats, channels, kept) -> None:
    """As bytes in memory, of 16 bits where that says all."""
    sound = tones("ab")
    many = sound if channels == 1 else np.stack([sound, 0.37 * sound], 1)
    own = Sound(None, "x", data=wav(many, 11_025, bits, floats=floats))
    again = Sound(None, "y", data=wav_of(own))
    assert again.info() == AudioInfo(11_025, 1)
    assert struct.unpack("<H", again.data[34:36])[0] == kept
    first, second = (np.concatenate(list(each.blocks())) for each in (own, again))
    np.testing.assert_array_equal(first, second)


def test_loud_sound_is_not_cut() -> None:
    """+1 has no place in 16 bits."""
    own = Sound(None, "x", np.array([1.0, -1.0, 0.5], np.float32), RATE)
    again = Sound(None, "y", data=wav_of(own))
    np.testing.assert_array_equal(np.concatenate(list(again.blocks())), own.samples)


def test_a_table_beside_recordings_that_cannot_be_read(tmp_path: Path) -> None:
    """It is none that names them: a link to nowhere, a folder, a pipe."""
    home = write_labels(tmp_path / "x", 2)
    (home / "gone.csv").symlink_to(home / "nowhere.csv")
    (home / "folder.csv").mkdir()
    os.mkfifo(home / "pipe.csv")
    assert columns(home)["folder"] == ["a", "a", "b", "b", "c", "c"]
