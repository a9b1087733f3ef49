"""Every kind of field: what is stored is what is encoded, and nothing depends on the company."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from every_field import field_classes
from unspool.config import TokenizerConfig
from unspool.data.fields.audio import AudioSource
from unspool.data.fields.audio_frames import Framing
from unspool.data.fields.bags import NgramField
from unspool.data.fields.features import FeatureField
from unspool.data.fields.field import Field
from unspool.data.fields.history import HistoryField
from unspool.data.fields.image import ImageSource
from unspool.data.fields.image_shape import ImageShape
from unspool.data.fields.joined import JoinedField
from unspool.data.fields.label import LabelField
from unspool.data.fields.labels import LabelsField
from unspool.data.fields.music import PianoRoll
from unspool.data.fields.music_events import MusicEvents
from unspool.data.fields.number import NumberField
from unspool.data.fields.pair import PairField, PairForm
from unspool.data.fields.question import QuestionForm
from unspool.data.fields.source import SeriesSource, VectorSource
from unspool.data.fields.span import SpanField
from unspool.data.fields.story import StoryField, StoryForm
from unspool.data.fields.stream import TextStream
from unspool.data.fields.strokes import Preparation, StrokesSource
from unspool.data.fields.tags import TagsField
from unspool.data.fields.text import TextField
from unspool.data.fields.texts import TextsField
from unspool.data.fields.vectors import RecordingField, VectorField
from unspool.data.fields.video import VideoSource
from unspool.data.fields.words import WordsField
from unspool.data.read import Column
from unspool.errors import DataError, RunError
from unspool.text.vocab import SENTENCE_SPECIALS

TEXTS = ["a fine film", "dull", "Zeta, é日本 and it's a film", "fine fine fine fine", "the end"]
PAIRS = [[text, other] for text, other in zip(TEXTS, TEXTS[2:] + TEXTS[:2])]
STORIES = [(TEXTS[: n + 1], TEXTS[n]) for n in range(5)]
SENTENCES = [["EU", "rejects"], ["a"], ["Peter", "Blackburn", "slept"], ["EU"], ["a", "a", "a"]]
TAGS = [["B-ORG", "O"], ["O"], ["B-PER", "I-PER", "O"], ["B-ORG"], ["O", "O", "O"]]
WORDS = TokenizerConfig(kind="word")
SERIES = [
    np.array([[1, 2], [3, 5], [2, np.nan], [0, 1]], dtype=np.float32),
    [[4, 5]],
    [[1, None], [2, 2], [7, 8]],
    [[0, 1], [0, 1]],
    [[9, 9], [8, 7], [6, 5], [4, 3], [2, 1]],
]
DRAWINGS = [
    [[[0, 0], [1, 2], [3, 1]], [[5, 5]]],
    [[[7, 7]]],
    np.array([[1, 2, 0], [3, 4, 1]]),
    [[[0, 1], [2, 2.5]]],
    [[[9, 9], [8, 7], [6, 5]], [[4, 3], [2, 1]]],
]
WORN = Preparation(smoothing=1, tolerance=0.01, slant="remove", size="height")


HISTORIES = [np.arange(n * 2, dtype=np.float32).reshape(n, 2) ** 1.5 for n in (5, 9, 4, 7, 12)]


FRAMING = Framing(8000, 25.0, 10.0, 6, "logmel", 4)
SOUNDS = [
    (np.sin(np.arange(n) / n**0.3).astype(np.float32), 8000) for n in (800, 1200, 500, 900, 1500)
]

CAPTIONS = [["a dog runs", "the dog"], ["a cat"], ["a cat sits", "it sits", "a dog"], ["it"], ["a"]]
IMAGES = [
    (np.arange(h * w).reshape(h, w) * 7 % 251).astype(np.uint8)
    for h, w in ((6, 6), (6, 9), (4, 7), (12, 12))
] + [np.linspace(0, 200, 6 * 5 * 3).reshape(6, 5, 3)]
CLIPS = [
    (np.arange(t * h * w).reshape(t, h, w) * 7 % 251).astype(np.uint8)
    for t, h, w in ((3, 6, 6), (1, 6, 9), (5, 4, 7), (2, 12, 12))
] + [np.linspace(0, 200, 2 * 6 * 5 * 3).reshape(2, 6, 5, 3)]

MUSIC = [
    [[60, 64, 67], [60, 65], [59]],
    [[48]],
    [[], [50, 62], [50, 62]],
    [[60], [60], [72, 60], []],
    [[61, 21, 108], [40]],
]


def cases() -> dict[str, tuple[Callable[[], Field], list[Any]]]:
    def text(**options: Any) -> Callable[[], Field]:
        settings = TokenizerConfig(**{"kind": "word", **options.pop("tokens", {})})
        return lambda: TextField("text", settings, **options)

    return {
        "text": (text(), TEXTS),
        "text-char": (text(tokens={"kind": "char", "lowercase": True}), TEXTS),
        "text-bpe": (text(tokens={"kind": "bpe", "vocab": 300}), TEXTS),
        "text-cut": (text(max_length=2), TEXTS),
        "text-marks": (text(specials=SENTENCE_SPECIALS, marks=(True, True), max_length=2), TEXTS),
        "text-spelled": (text(spelled=True), TEXTS),
        "texts": (lambda: TextsField("caption", WORDS), CAPTIONS),
        "texts-bpe": (
            lambda: TextsField("caption", TokenizerConfig(kind="bpe", vocab=300)),
            CAPTIONS,
        ),
        "strokes": (lambda: VectorField("strokes", StrokesSource(Preparation())), DRAWINGS),
        "strokes-prepared": (
            lambda: VectorField("strokes", StrokesSource(WORN), max_length=3),
            DRAWINGS,
        ),
        "strokes-features": (
            lambda: FeatureField(VectorField("strokes", StrokesSource(WORN))),
            DRAWINGS,
        ),
        "audio": (lambda: VectorField("audio", AudioSource(FRAMING)), SOUNDS),
        "audio-features": (
            lambda: FeatureField(VectorField("audio", AudioSource(FRAMING))),
            SOUNDS,
        ),
        "image": (
            lambda: VectorField("image", ImageSource(ImageShape(6, 6, 1, "patches", 3))),
            IMAGES,
        ),
        "image-columns": (
            lambda: VectorField("image", ImageSource(ImageShape(6, 0, 3, "columns"))),
            IMAGES,
        ),
        "image-itself": (
            lambda: VectorField(
                "image", ImageSource(ImageShape(6, 8, 1, "rows")), scaling="series"
            ),
            IMAGES,
        ),
        "image-features": (
            lambda: FeatureField(VectorField("image", ImageSource(ImageShape(20, 20, 3, "cnn")))),
            IMAGES,
        ),
        "music": (lambda: VectorField("music", PianoRoll(4)), MUSIC),
        "music-cut": (lambda: VectorField("music", PianoRoll(4), max_length=2), MUSIC),
        "music-features": (lambda: FeatureField(VectorField("music", PianoRoll(4))), MUSIC),
        "music-events": (lambda: MusicEvents("music", 4, max_length=6), MUSIC),
        "video": (lambda: VectorField("video", VideoSource(ImageShape(6, 7, 3, "cnn"))), CLIPS),
        "video-cut": (
            lambda: VectorField(
                "video",
                VideoSource(ImageShape(6, 6, 1, "patches", 3)),
                scaling="series",
                max_length=2,
            ),
            CLIPS,
        ),
        "video-features": (
            lambda: FeatureField(VectorField("video", VideoSource(ImageShape(20, 20, 1, "cnn")))),
            CLIPS,
        ),
        "ngrams": (lambda: NgramField("text", WORDS), TEXTS),
        "ngrams-char": (lambda: NgramField("text", TokenizerConfig(kind="char")), TEXTS),
        "joined": (
            lambda: JoinedField("text", [NgramField("text", WORDS), TextField("text", WORDS)]),
            TEXTS,
        ),
        "ngrams-cut": (lambda: NgramField("text", WORDS, max_length=2), TEXTS),
        "words": (lambda: WordsField("words", WORDS), SENTENCES),
        "words-characters": (lambda: WordsField("words", WORDS, characters=True), SENTENCES),
        "words-spelled": (lambda: WordsField("words", WORDS, spelled=True), SENTENCES),
        "pair": (lambda: PairField("pair", WORDS), PAIRS),
        "pair-bpe-cut": (
            lambda: PairField("pair", TokenizerConfig(kind="bpe", vocab=300), max_length=5),
            PAIRS,
        ),
        "pair-ngrams": (lambda: NgramField("pair", WORDS, form=PairForm()), PAIRS),
        "question": (lambda: PairField("question", WORDS, form=QuestionForm()), PAIRS),
        "question-bpe": (
            lambda: PairField(
                "question", TokenizerConfig(kind="bpe", vocab=300), form=QuestionForm()
            ),
            PAIRS,
        ),
        "span": (lambda: SpanField("span"), [[[0, 2]], [], [[1, 3], [4, 5]], [], [[2, 2]]]),
        "story": (lambda: StoryField("story", WORDS, memory=2), STORIES),
        "story-sequence": (lambda: PairField("story", WORDS, form=StoryForm()), STORIES),
        "label": (lambda: LabelField("label"), ["x", "y", "x", "z", "y"]),
        "known-answer": (lambda: LabelField("label", other=True), ["x", "y", "x", "z", "y"]),
        "labels": (lambda: LabelsField("labels"), [["x", "y"], [], ["z", "x", "x"], ["y"], ["z"]]),
        "tags": (lambda: TagsField("tags"), TAGS),
        "number": (lambda: NumberField("number"), ["1", "2.5", "-3", "4e2", "0"]),
        "series": (lambda: VectorField("series", SeriesSource()), SERIES),
        "series-itself": (
            lambda: VectorField("series", SeriesSource(), scaling="series", max_length=3),
            SERIES,
        ),
        "series-features": (lambda: FeatureField(VectorField("series", SeriesSource())), SERIES),
        "history": (lambda: HistoryField("history", horizon=2, length=4), HISTORIES),
        "numbers": (lambda: NumberField("numbers"), [[1, 2], [2, 0.5], [3, 9], [4, 8], [5, 1]]),
    }


CASES = cases()


def test_every_kind_is_tested() -> None:
    fields = [make() for make, _ in CASES.values()]
    kinds = {source.kind for source in field_classes(VectorSource)}
    assert {field.source.kind for field in fields if isinstance(field, RecordingField)} == kinds
    untested = set(field_classes()) - {type(field) for field in fields}
    assert untested == {TextStream}


def stored(field: Field, raw: list[Any], folder: Path) -> Any:
    writer = field.writer(folder)
    writer.add(raw[:2], lambda i: f"file:{i + 1}")
    writer.add(raw[2:], lambda i: f"file:{i + 3}")
    writer.close()
    return field.open(folder, {"of": str(folder)}, lambda row, step: f"file:{row + 1}")


def fitted(name: str, folder: Path) -> tuple[Field, Any, list[Any]]:
    make, raw = CASES[name]
    field = make()
    column = stored(field, raw, folder)
    field.fit(column, np.arange(len(raw)), where="file")
    return field, column, raw


def same(a: Any, b: Any) -> None:
    """Tensors, or named tuples of them, are equal."""
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b)
    elif isinstance(a, np.ndarray):
        assert np.array_equal(a, b)
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a == b


def unspelled(batch: Any) -> Any:
    """Without the table of spellings, whose order depends on how the words were met."""
    if hasattr(batch, "members"):  # the first field is a case of its own
        return unspelled(batch.members[1])
    if hasattr(batch, "origins"):  # without the numbers of its rows
        others = batch.observed, batch.extra, batch.known, batch.future, batch.seen
        return batch.y, batch.lengths, *others
    if not hasattr(batch, "ids") or hasattr(batch, "sizes"):
        return batch
    return batch.ids, batch.lengths


def spelled(batch: Any) -> list[Any]:
    """The spelling of every word of a batch, one after the other."""
    found = []
    if getattr(batch, "spellings", None) is not None:
        found.append(batch.spellings[batch.which])
    if getattr(batch, "words", None) is not None:
        found.append(batch.words.spellings[batch.words[2]])
    return found


@pytest.mark.parametrize("name", CASES)
def test_stored_values_equal_encoded_ones(name, tmp_path) -> None:
    field, column, raw = fitted(name, tmp_path)
    rows = np.arange(len(raw))
    from_file = field.collate(field.values(column), rows)
    in_memory = field.collate(field.encode(raw if name != "tags" else iobes(raw)), rows)
    same(unspelled(from_file), unspelled(in_memory))
    for a, b in zip(spelled(from_file), spelled(in_memory)):
        assert torch.equal(a, b)


def iobes(raw: list[list[str]]) -> list[list[str]]:
    """What the raw tags are inside."""
    inside = {"B-ORG": "S-ORG", "I-PER": "E-PER"}
    return [[inside.get(tag, tag) for tag in tags] for tags in raw]


@pytest.mark.parametrize("name", CASES)
def test_a_row_is_the_same_alone_in_any_order_and_selected(name, tmp_path) -> None:
    field, column, raw = fitted(name, tmp_path)
    values = field.values(column)
    order = np.array([3, 0, 4, 2, 1])
    together = unspelled(field.collate(values, order))
    chosen = unspelled(field.collate(values.select(order), np.arange(len(raw))))
    same(together, chosen)
    if name in ("span", "story"):  # no sequences; the texts of stories are shared by a batch
        return
    for i, row in enumerate(order):
        alone = unspelled(field.collate(values, np.array([row])))
        if name.startswith("texts"):
            (all_ids, lengths, sizes), (ids, own_lengths, size) = together, alone
            own = torch.arange(len(raw)).repeat_interleave(sizes) == i
            assert (sizes[i], lengths[own].tolist()) == (size, own_lengths.tolist())
            assert all_ids[own, : ids.shape[1]].tolist() == ids.tolist()
        elif isinstance(alone, tuple):
            length = int(alone[1][0])
            assert together[1][i] == length
            assert torch.equal(together[0][i, :length], alone[0][0])
            assert not together[0][i, length:].any()
        else:
            width = alone.shape[1] if alone.dim() > 1 else None
            assert torch.equal(together[i][:width] if width else together[i], alone[0])


@pytest.mark.parametrize("name", CASES)
def test_a_saved_field_is_the_same(name, tmp_path) -> None:
    field, _, raw = fitted(name, tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    field.save(folder)
    again = CASES[name][0]()
    again.load(folder)
    raw = iobes(raw) if name == "tags" else raw
    rows = np.arange(len(raw))
    same(
        unspelled(field.collate(field.encode(raw), rows)),
        unspelled(again.collate(again.encode(raw), rows)),
    )


def test_numbers_are_standardised_on_the_training_rows(tmp_path) -> None:
    field = NumberField("number")
    column = stored(field, ["1", "3", "100", "2"], tmp_path)
    notes = field.fit(column, np.array([0, 1]), where="file")
    assert notes == ["number1: mean 2, standard deviation 1, from 1 to 3 in train"]
    values = field.values(column)
    scaled = field.collate(values, np.arange(4))
    assert scaled[:, 0].tolist() == [-1, 1, 98, 0]
    assert field.restore(scaled.numpy())[:, 0].tolist() == [1, 3, 100, 2]


@pytest.mark.parametrize("value", ["1,5", "inf", "x"])
def test_what_is_no_number_is_refused_with_its_line(value, tmp_path) -> None:
    with pytest.raises(DataError, match=f"file:2: the value is not a number; got '{value}'"):
        stored(NumberField("number"), ["1", value, "2"], tmp_path)


def test_missing_numbers_are_blank(tmp_path) -> None:
    field = NumberField("number")
    column = stored(field, ["1", "", "NaN", "n/a", None, "2"], tmp_path)
    assert field.blank(column).tolist() == [False, True, True, True, True, False]


def test_missing_labels_are_blank_and_told(tmp_path) -> None:
    field = LabelField("label")
    column = stored(field, ["a", "", "NaN", "None", None, "null"], tmp_path)
    blank = field.blank(column)
    assert blank.tolist() == [False, True, True, False, True, True]
    told = field.what_is_missing(column, np.flatnonzero(blank))
    assert told == "no label (2 empty, 1 'NaN', 1 'null'; --missing keep makes labels of them)"
    kept = LabelField("label", missing="keep").blank(column)
    assert kept.tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize(
    ("names", "missing"),
    [("treated control .", "."), ("+ -", None), ("O , . ?", None), ("yes -", None)],
)
def test_a_sign_among_words_is_a_missing_label(names: str, missing: str | None, tmp_path) -> None:
    field = LabelField("label")
    blank = field.blank(stored(field, names.split(), tmp_path))
    assert blank.tolist() == [name == missing for name in names.split()]


def test_labels_that_differ_only_in_spelling_are_noted(tmp_path) -> None:
    field = LabelField("label")
    column = stored(field, ["Pos", "pos", "1", "1.0", "01b", "x"] * 2, tmp_path)
    (note,) = field.fit(column, np.arange(12), where="")
    assert "'1' and '1.0'; 'Pos' and 'pos'; write each in one way" in note


def test_rows_have_equally_many_numbers(tmp_path) -> None:
    with pytest.raises(DataError, match="file:2: expected 2 numbers, found 1"):
        stored(NumberField("number"), [[1, 2], [1], [1, 2]], tmp_path)


def test_numbers_that_never_change_are_refused(tmp_path) -> None:
    field = NumberField("number")
    column = stored(field, ["1", "1", "1"], tmp_path)
    with pytest.raises(DataError, match="file: all rows have the same number1"):
        field.fit(column, np.arange(3), where="file")


def test_damaged_numbers_of_a_run_are_refused(tmp_path) -> None:
    (tmp_path / "numbers.json").write_text('{"names": ["a"], "mean": [1, 2], "std": [1]}')
    with pytest.raises(RunError, match="not the names, means and deviations of numbers"):
        NumberField("number").load(tmp_path)


def test_labels_are_multi_hot_and_stratified_by_the_rarest(tmp_path) -> None:
    field = LabelsField("labels")
    column = stored(field, [["b", "a"], ["a"], [], ["a", "c"], ["a", "b", "d"]], tmp_path)
    notes = field.fit(column, np.array([0, 1, 2, 3]), where="file")
    assert notes == [
        "3 labels, 1.25 a row in train, 1 rows without one",
        "labels that no training row has are not learnt: 'd'",
    ]
    assert (field.names, field.counts.tolist(), field.rows) == (["a", "b", "c"], [3, 1, 1], 4)
    values = field.values(column)
    assert field.collate(values, np.array([4, 2, 0])).tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert field.tally(values) == {"a": 4, "b": 2, "c": 1}
    (note,) = field.check(values, lambda row: f"file:{row + 1}")
    assert note.endswith("are left out, in 1 rows, the first at file:5: 'd'")
    assert len(set(field.strata(column).tolist())) == 5  # b, a, none, c, d


def test_labels_of_columns_keep_their_order(tmp_path) -> None:
    field = LabelsField("labels")
    parts = tuple(Column(name, i, []) for i, name in enumerate(["z", "y", "never"]))
    field.look(Column("z, y, never", 0, [], parts))
    column = stored(field, [["y"], ["z"], []], tmp_path)
    notes = field.fit(column, np.arange(3), where="file")
    assert field.names == ["z", "y"]
    assert notes[1] == "labels that no training row has are not learnt: 'never'"


def test_one_label_alone_is_nothing_to_choose_from(tmp_path) -> None:
    field = LabelsField("labels")
    column = stored(field, [["x"], ["x"], []], tmp_path)
    with pytest.raises(DataError, match="file: there are fewer than two labels"):
        field.survey(column, np.arange(3), where="file")


def test_what_is_no_label_of_several_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match=r"file:2: the value is not a label; got \{\}"):
        stored(LabelsField("labels"), [["x"], [{}], []], tmp_path)


def test_labels_that_are_missing_are_not_those_of_a_row_without_any(tmp_path) -> None:
    raw = [["x"], None, [], ["n/a"], ["y", "x"]]
    field = LabelsField("labels")
    column = stored(field, raw, tmp_path)
    assert field.blank(column).tolist() == [False, True, False, True, False]
    assert field.fit(column, np.array([0, 2, 4]), where="file") == [
        "2 labels, 1.00 a row in train, 1 rows without one"
    ]
    kept = LabelsField("labels", missing="keep")
    assert kept.blank(stored(kept, raw, tmp_path)).tolist() == [False, True, False, False, False]
