"""From files to split ids: what training reads is what the tokenizer would say of the text."""

import gzip
import random
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from small_tasks import Loaded, load_data
from unspool.api.settings import make_config
from unspool.config import DataConfig
from unspool.data.read.delimited import Csv
from unspool.tasks import TASKS
from unspool.tasks.planner import open_plan
from unspool.text import open_vocabulary
from unspool.text.open_vocabulary import OpenWords, TokenRules

WORDS = ["alpha", "Beta", "gamma", "delta,", "epsilon.", "Zeta!", "é日本", "naïve", "it's"]


def texts(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(count)]


def write_rows(path: Path, count: int = 60, seed: int = 1) -> Path:
    rows = "".join(f'{"xyz"[i % 3]},"{text}"\n' for i, text in enumerate(texts(count, seed)))
    path.write_text("label,text\n" + rows)
    return path


def documents(corpus: Loaded, name: str = "train") -> list[list[int]]:
    tokens = corpus.parts[name]["text"]
    return [tokens[row].tolist() for row in range(len(tokens))]


def stream(corpus: Loaded, name: str = "train") -> list[int]:
    tokens = corpus.parts[name]["text"]
    return tokens.slice(0, 0, int(tokens.sizes[0])).tolist()


KINDS = [
    {"kind": "char"},
    {"kind": "char", "lowercase": True},
    {"kind": "word"},
    {"kind": "word", "split": "space", "lowercase": True},
    {"kind": "bpe", "vocab": 300},
]


@pytest.mark.parametrize("tokens", KINDS, ids=str)
def test_documents_are_what_the_tokenizer_says(tmp_path, tokens: dict) -> None:
    path = write_rows(tmp_path / "a.csv")
    corpus = load_data(path, data={"test_share": 0.2}, **tokens)
    rows = [row.values[0] for row in open_plan(path, DataConfig()).rows()]
    assert list(corpus.parts) == ["train", "valid", "test"]
    for part in corpus.parts.values():
        for row in range(len(part)):
            text = rows[part.lines[row] - 2]
            assert part["text"][row].tolist() == corpus.tokenizer.encode(text).tolist()
            assert part.lengths[row, 0] == len(part["text"][row])
            label = corpus.labels[part["label"].ids[row]]
            assert label == "xyz"[(part.lines[row] - 2) % 3]


@pytest.mark.parametrize("tokens", KINDS, ids=str)
def test_a_stream_is_what_the_tokenizer_says(tmp_path, tokens: dict) -> None:
    text = "\n".join(texts(3000)) + "\n\nend"
    (tmp_path / "a.txt").write_text(text)
    corpus = load_data(tmp_path / "a.txt", task="generate", data={"test_share": 0.05}, **tokens)
    ids = [i for name in ("train", "valid", "test") for i in stream(corpus, name)]
    if tokens["kind"] == "bpe":
        assert corpus.tokenizer.decode(ids) == text
        assert corpus.tokenizer.decode(stream(corpus)) == text[: round(0.85 * len(text))]
    else:
        assert ids == corpus.tokenizer.encode(text).tolist()
        assert len(stream(corpus, "valid")) == round(0.1 * len(ids))
    sizes = {name: int(part["text"].characters[0]) for name, part in corpus.parts.items()}
    assert sum(sizes.values()) == len(text)
    assert sizes["valid"] == pytest.approx(0.1 * len(text), rel=0.02)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("ab'.<unk>\u0301é \n", max_size=30), min_size=1, max_size=8))
def test_open_words_equal_the_tokenizer(found: list[str]) -> None:
    from unspool.text.tokenizers import WordTokenizer
    from unspool.text.vocab import Vocab

    for newlines in (False, True):
        rules = TokenRules("word", "nfc", True, "punctuation", newlines)
        encoder = OpenWords(rules)
        ids, lengths = encoder.encode(found)
        tokenizer = WordTokenizer(Vocab.of([]), normalizer=rules.normalizer, newlines=newlines)
        expected = [tokenizer.pieces(text) for text in found]
        assert [encoder.types[i] for i in ids] == [word for text in expected for word in text]
        assert lengths.tolist() == [len(text) for text in expected]


def test_word_types_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr(open_vocabulary, "MOST_TYPES", 4)
    encoder = OpenWords(TokenRules("word", "nfc", False, "space", False))
    ids, _ = encoder.encode(["a b c d e a"])
    assert [encoder.types[i] for i in ids] == ["a", "b", "c", "<unk>", "<unk>", "a"]


def test_vocabulary_is_from_train_only(tmp_path) -> None:
    rows = "".join(f"{'xy'[i % 2]},only{i} shared\n" for i in range(100))
    (tmp_path / "a.csv").write_text("label,text\n" + rows)
    corpus = load_data(tmp_path / "a.csv", kind="word")
    assert documents(corpus, "valid") == [[1, 2]] * 10
    assert corpus.tokenizer.vocab[2] == "shared"
    assert len(corpus.tokenizer) == 2 + 1 + 90
    text = "common " * 90 + "rare " * 10
    (tmp_path / "b.txt").write_text(text)
    corpus = load_data(tmp_path / "b.txt", task="generate", kind="word")
    assert corpus.tokenizer.vocab.tokens[2:] == ["common"]
    assert stream(corpus, "valid") == [1] * 10


def test_vocabulary_limits_and_order(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("b b b a a a c c d <unk> <unk> <unk> <unk>")
    options = {"task": "generate", "data": {"valid_share": 0}, "kind": "word"}
    assert load_data(tmp_path / "a.txt", **options).tokenizer.vocab.tokens[2:] == [
        "b",
        "a",
        "c",
        "d",
    ]
    corpus = load_data(tmp_path / "a.txt", **options, vocab=4)
    assert corpus.tokenizer.vocab.tokens[2:] == ["b", "a"]
    assert stream(corpus) == [2, 2, 2, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1]
    corpus = load_data(tmp_path / "a.txt", **options, min_count=2)
    assert corpus.tokenizer.vocab.tokens[2:] == ["b", "a", "c"]
    assert list(corpus.parts) == ["train"]


@pytest.mark.parametrize("tokens", [{"kind": "word"}, {"kind": "bpe", "vocab": 300}], ids=str)
@pytest.mark.parametrize("task", ["classify", "generate"])
def test_cache_hit_equals_fresh_and_reads_nothing(tmp_path, monkeypatch, task, tokens) -> None:
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    path = write_rows(tmp_path / "a.csv")
    get = documents if task == "classify" else stream
    fresh = load_data(path, task=task, **tokens)
    whole = Csv.rows

    def refuse(self, numbers, report=None):
        assert report is None, "the texts are read again"
        return whole(self, numbers, report)

    monkeypatch.setattr(Csv, "rows", refuse)
    read = []
    again = load_data(path, task=task, progress=lambda *stages: read.append(stages), **tokens)
    assert not read
    assert "cache" in again.corpus.cached[-1]
    assert not fresh.corpus.cached

    for name in ("train", "valid"):
        assert get(again, name) == get(fresh, name)
    assert again.tokenizer.to_json() == fresh.tokenizer.to_json()
    # Another split and vocabulary need no second look either.
    if tokens["kind"] == "word":
        load_data(
            path,
            task=task,
            seed=2,
            data={"valid_share": 0.5},
            progress=lambda *stages: read.append(stages),
            **tokens,
        )
        assert not read


def test_gzip_equals_plain(tmp_path) -> None:
    text = "\n".join(texts(5000))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    a, b = (
        load_data(tmp_path / name, task="generate", kind="word") for name in ("a.txt", "b.txt.gz")
    )
    assert stream(a) == stream(b)
    assert a.parts["valid"]["text"].characters == b.parts["valid"]["text"].characters


def test_given_files_are_used_whole(tmp_path) -> None:
    train, valid, test = (
        write_rows(tmp_path / f"{seed}.csv", count, seed)
        for seed, count in ((1, 60), (2, 12), (3, 9))
    )
    corpus = load_data(train, valid=valid, test=test, kind="word")
    assert [len(part) for part in corpus.parts.values()] == [60, 12, 9]
    rows = [row.values[0] for row in open_plan(valid, DataConfig()).rows()]
    assert documents(corpus, "valid") == [corpus.tokenizer.encode(t).tolist() for t in rows]
    assert corpus.notes[0] == "rows: train 60, valid 12, test 9"


def test_given_stream_with_held_out_test(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("abcde" * 100)
    (tmp_path / "b.txt").write_text("edcba!" * 5)
    corpus = load_data(
        tmp_path / "a.txt", valid=tmp_path / "b.txt", task="generate", data={"test_share": 0.2}
    )
    assert {name: len(stream(corpus, name)) for name in corpus.parts} == {
        "train": 400, "valid": 30, "test": 100,
    }  # fmt: skip
    assert corpus.tokenizer.decode(stream(corpus, "valid")) == "edcba\ufffd" * 5


def test_empty_rows_are_left_out_of_training_only(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "good,x\nbad,y\n" * 10 + ",x\n  ,y\n")
    corpus = load_data(path)
    assert sum(map(len, corpus.parts.values())) == 20
    note = f"2 rows with an empty text left out, the first at {path}:22"
    assert note in corpus.notes
    part, _ = corpus.encode(path)
    assert len(part) == 22
    assert part["text"][21].tolist() == [1]
    assert part.lengths[21, 0] == 1


def test_a_table_to_evaluate_on_equals_training(tmp_path) -> None:
    path = write_rows(tmp_path / "a.csv")
    for tokens in KINDS:
        corpus = load_data(path, **tokens)
        part, _ = corpus.encode(path)
        for row, line in enumerate(corpus.parts["valid"].lines):
            expected = corpus.parts["valid"]["text"][row].tolist()
            assert part["text"][line - 2].tolist() == expected
        assert part["label"].ids.tolist() == [i % 3 for i in range(60)]


def test_max_length_cuts_and_says_so(tmp_path) -> None:
    path = write_rows(tmp_path / "a.csv")
    whole, cut = load_data(path), load_data(path, data={"max_length": 4})
    assert cut.parts["train"].lengths.max() == 4
    assert documents(cut) == [ids[:4] for ids in documents(whole)]
    assert any("cut to their first 4 tokens" in note for note in cut.notes)


def test_rare_labels_stay_in_train(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "a b,x\nc d,y\n" * 10 + "e f,z\n")
    corpus = load_data(tmp_path / "a.csv", data={"valid_share": 0.3})
    assert corpus.labels == ["x", "y", "z"]
    assert 2 in corpus.parts["train"]["label"].ids
    assert any("one example, which stays in train: 'z'" in note for note in corpus.notes)


def test_auto_kind(tmp_path) -> None:
    cases = {
        "dna.tsv": ("n\tACGTACGT\nei\tTTGACCA\n" * 20, None, "char"),
        "names.csv": (
            "text,label\n" + "van Dijk,nl\nMeier,de\nSchmidt,de\nBakker,nl\n" * 9,
            None,
            "char",
        ),
        "reviews.csv": ("text,label\n" + "a fine film,x\nsuch a dull plot,y\n" * 20, None, "word"),
        "book.txt": ("it was a dark night\nand it rained\n" * 20, "generate", "char"),
    }
    for name, (content, task, kind) in cases.items():
        (tmp_path / name).write_text(content)
        assert load_data(tmp_path / name, task=task).tokenizer.kind == kind, name


def test_seed_decides_the_split(tmp_path) -> None:
    path = write_rows(tmp_path / "a.csv")
    lines = [load_data(path, seed=seed).parts["valid"].lines.tolist() for seed in (1, 1, 2)]
    assert lines[0] == lines[1] != lines[2]


def test_progress_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    seen: list[tuple[str, float]] = []
    path = write_rows(tmp_path / "a.csv")
    load_data(
        path, kind="bpe", vocab=300, progress=lambda stage, share: seen.append((stage, share))
    )
    stages = list(dict.fromkeys(stage.split()[0] for stage, _ in seen))
    assert stages == ["tokenising", "fitting", "encoding"]
    assert all(0 <= share <= 1 for _, share in seen)


def test_slices_are_checked(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("abcdefghij" * 10)
    tokens = load_data(tmp_path / "a.txt", task="generate").parts["valid"]["text"]
    assert tokens.slice(0, 2, 5).dtype == np.int64
    with pytest.raises(IndexError):
        tokens.slice(0, 5, 11)


def test_words_of_file_names_are_groups(tmp_path) -> None:
    for name, speakers, shared in [
        ("several", ("ann", "bob", "cid"), True),
        ("one", ("ann",), False),
    ]:
        write_tones(tmp_path / name, speakers)
        plan = open_plan(str(tmp_path / name), DataConfig())
        config = make_config("classify", "majority", settings=plan.settings, plan=plan)
        notes = " ".join(TASKS["classify"].load_corpus(config, {"train": plan}).notes)
        note = (
            "valid share each name_2 (ann, bob, cid) with train: --group name_2 holds out new ones"
        )
        assert (note in notes, "share" in notes) == (shared, shared)


def write_tones(folder: Path, speakers: tuple[str, ...]) -> None:
    """Recordings LABEL/LABEL_SPEAKER_NUMBER.wav of short tones."""
    rng = np.random.default_rng(0)
    for i in range(60):
        label = "xy"[i % 2]
        (folder / label).mkdir(parents=True, exist_ok=True)
        path = folder / label / f"{label}_{speakers[i % len(speakers)]}_{i}.wav"
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 8000, 800, "NONE", ""))
            file.writeframes(rng.integers(-99, 99, 800).astype("<i2").tobytes())


def test_shared_groups_are_reported(tmp_path) -> None:
    """A score on speakers that were trained on says little about new ones."""
    path = tmp_path / "a.csv"
    rows = [f"some words {i},{'xy'[i % 2]},s{i % 5}" for i in range(60)]
    path.write_text("text,label,speaker\n" + "\n".join(rows) + "\n")
    note = "valid share each speaker with train: --group speaker holds out new ones"
    assert note in load_data(str(path)).notes
    apart = load_data(str(path), data={"group": "speaker", "valid_share": 0.3})
    alone = [f"{row}-{i}" for i, row in enumerate(rows)]  # a speaker a row
    path.write_text("text,label,speaker\n" + "\n".join(alone) + "\n")
    for corpus in (apart, load_data(str(path))):
        assert not any("share each" in line for line in corpus.notes)
