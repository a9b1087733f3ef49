"""Values of a wrong type or size from Python: one line each, and nothing accepted by chance."""

import json
import re

import numpy as np
import pytest

import unspool
from unspool.config.numbers import check_numbers
from unspool.errors import ConfigError, DataError, RunError, UserError
from unspool.search.decoding import Decoding
from unspool.search.stream import Sampling
from unspool.tasks.generate import Generation
from unspool.tasks.pretrain import Filling

HALF = "\udc80x"
QUICK = {"quiet": True, "max_steps": 1, "precision": "fp32"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    texts, labels = ["good film", "bad film", "fine plot", "awful plot"] * 5, ["p", "n"] * 10
    return unspool.train(texts, labels, out=tmp_path_factory.mktemp("c") / "run", **QUICK)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    path = tmp_path_factory.mktemp("t") / "t.conll"
    path.write_text("Ann B-PER\nruns O\n\nshe O\nsees O\nBo B-PER\n\n" * 10)
    return unspool.train(path, out=path.parent / "run", **QUICK)


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    path = tmp_path_factory.mktemp("w") / "w.txt"
    path.write_text("it was a fine day and a fine night\n" * 30)
    return unspool.train(path, task="generate", hidden=8, out=path.parent / "run", **QUICK)


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    path = tmp_path_factory.mktemp("p") / "p.tsv"
    rows = [f"{a} {b}\t{b} {a}" for a in "abcdef" for b in "ghijkl"]
    path.write_text("\n".join(["source\ttarget", *rows]))
    out = path.parent / "run"
    return unspool.train(path, task="translate", hidden=8, out=out, valid_share=0, **QUICK)


WRONG = [5, 3.5, True, None, b"a", [5], [b"a"], [None], [[5]], [bytearray(b"a")], object(), {5}]


@pytest.mark.parametrize("item", WRONG, ids=lambda item: repr(item)[:12])
def test_what_is_no_text_is_no_item(classifier, tagger, item) -> None:
    for run in (classifier, tagger):
        with pytest.raises(UserError, match=r"is not a text|has no order"):
            run.predict(item)
        for method in (run.explain, run.trace):
            with pytest.raises(UserError, match="is not a text"):
                method(item)


@pytest.mark.parametrize("item", [["a", "b"], np.array(["a", "b"]), [["a"]], {"a": 1}], ids=str)
def test_several_texts_are_not_explained_at_once(classifier, item) -> None:
    with pytest.raises(DataError, match="is not a text"):
        classifier.explain(item)


def test_half_of_a_surrogate_pair(classifier, tagger, writer) -> None:
    for call in (
        lambda: classifier.predict([HALF]),
        lambda: classifier.explain(HALF),
        lambda: tagger.predict([["a", HALF]]),
        lambda: tagger.trace([HALF]),
        lambda: writer.generate(HALF),
    ):
        with pytest.raises(DataError, match="half of a surrogate pair"):
            call()


def test_options_of_predict_are_not_ignored(classifier) -> None:
    with pytest.raises(ConfigError, match="unknown setting"):
        classifier.predict(["a"], beam=3)
    with pytest.raises(ConfigError, match="about the columns of a table"):
        classifier.predict(["a"], text="review")


OPTIONS = [
    (Decoding, "beam nbest max_length min_length no_repeat_ngram top_k seed", int),
    (Decoding, "length_penalty temperature top_p", float),
    (Generation, "length top_k seed", int),
    (Generation, "temperature top_p", float),
    (Sampling, "top_k seed", int),
    (Filling, "top", int),
]
CASES = [(made, name, kind) for made, names, kind in OPTIONS for name in names.split()]


@pytest.mark.parametrize(("made", "name", "kind"), CASES, ids=str)
def test_options_that_are_no_numbers(made, name, kind) -> None:
    wrong = ["a", [1], float("nan"), float("inf"), True, 10**400, -(10**400), b"1", {}]
    wrong += [1.5, None, 10**30, -1] if kind is int else [-1.0]
    for value in wrong:
        with pytest.raises(ConfigError) as caught:
            made(**{name: value})
        assert str(caught.value).replace("-", " ").startswith(name.replace("_", " "))
    made(**{name: np.int64(1)})


def test_numbers_of_numpy_become_plain_ones() -> None:
    options = Generation(length=np.int64(3), temperature=np.float32(0.5))
    assert (type(options.length), type(options.temperature)) == (int, float)
    check_numbers(options)


@pytest.mark.parametrize(
    "values",
    [{"beam": 10**12, "max_length": 10}, {"max_length": 10**11}, {"min_length": 10**11},
     {"beam": 10**6, "max_length": 10**6}],
    ids=str,
)  # fmt: skip
def test_a_search_that_is_too_large_is_refused_with_its_size(values) -> None:
    with pytest.raises(ConfigError, match=r"would take [\d.]+ [TP]B of memory, and this machine"):
        Decoding(**values)


def test_a_beam_is_refused_where_the_vocabulary_makes_it_too_large(translator, monkeypatch) -> None:
    wide = Decoding(beam=10**6, nbest=1)
    monkeypatch.setattr("unspool.config.numbers.machine_memory", lambda: 10**8)
    with pytest.raises(ConfigError, match=r"1,000,000 hypotheses .* would take [\d.]+ [MG]B"):
        translator.predict(["a g"], wide)
    assert len(translator.predict(["a g"], Decoding(beam=200))) == 1


def test_wide_beams_of_many_sources_give_what_each_gives_alone(translator) -> None:
    sources, wide = ["a g", "b h k", "c i"] * 4, Decoding(beam=500, nbest=3, max_length=6)
    together = translator.predict(sources, wide)
    for source, found in zip(sources, together):
        (alone,) = translator.predict([source], wide)
        assert str(alone) == str(found)


def test_a_text_that_is_too_long_to_write(writer) -> None:
    with pytest.raises(ConfigError, match=r"a text of 1,000,000,000,000 tokens would take 48.0 TB"):
        writer.generate("a", length=10**12)
    with pytest.raises(ConfigError, match="length must be 0 or more"):
        writer.generate("a", length=-1)
    for prompt in (5, b"a", None, ["a"]):
        with pytest.raises(DataError, match=r"prompt: .* is not a text"):
            writer.generate(prompt)


@pytest.mark.parametrize("path", [5, None, b"a", ["a"], "a\0b", 1.5], ids=repr)
def test_what_is_no_path(path) -> None:
    with pytest.raises(UserError, match="is not a path"):
        unspool.load(path)
    if path is None:
        return
    texts, labels = ["a", "b"] * 4, ["x", "y"] * 4
    with pytest.raises(ConfigError, match="is not a path"):
        unspool.train(texts, labels, out=path, quiet=True)
    with pytest.raises(ConfigError, match="is not a path"):
        unspool.train(texts, labels, start=path, quiet=True)
    with pytest.raises(ConfigError, match=r"not a TOML file|no such config"):
        unspool.train(texts, labels, config=path, quiet=True)


def test_names_that_are_no_words(tmp_path) -> None:
    texts, labels = ["a", "b"] * 4, ["x", "y"] * 4
    for name in ("task", "model"):
        with pytest.raises(ConfigError, match=f"unknown {name}; got 5"):
            unspool.train(texts, labels, quiet=True, out=tmp_path / "run", **{name: 5})


def test_a_damaged_line_of_the_log(classifier) -> None:
    log = classifier.folder.metrics
    whole = log.read_bytes()
    assert whole
    assert len(classifier.metrics()) == whole.count(b"\n")
    try:
        for line in (b"{", b"[1]", b"\xff", b"[" * 100_000, b"9" * 5000, b"\0\0", b""):
            log.write_bytes(whole + line + b"\n" + b'{"step": 9}\n{"half')
            with pytest.raises(RunError, match=re.escape(f"{log}")):
                classifier.metrics()
    finally:
        log.write_bytes(whole)
    assert all(json.dumps(record) for record in classifier.metrics())


def test_texts_are_no_series(reviews, tmp_path) -> None:
    message = r"reviews\.csv: holds no series: it was read as text and label. Leave out input="
    with pytest.raises(DataError, match=message):
        unspool.train(reviews, input="series", out=tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()
