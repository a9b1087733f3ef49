"""Two texts: which columns they are, how they are cut and given, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import unspool
from unspool.config import DataConfig, TokenizerConfig
from unspool.data.fields.pair import PairField, TokenPairs, as_pair, share_room
from unspool.data.plan import Plan
from unspool.data.store.ragged import Ragged
from unspool.errors import DataError
from unspool.tasks.planner import open_plan
from unspool.text.tokenizers import PairFrame, WordTokenizer
from unspool.text.vocab import PAIR_SPECIALS, Vocab

ROWS = [("anna sleeps in ulm", "anna sleeps", "yes"), ("carl runs", "carl sleeps now", "no")] * 6


def write(path: Path, names: str, rows=ROWS) -> Path:
    path.write_text("\n".join([names, *(",".join(row) for row in rows)]) + "\n")
    return path


def plan(path: Path, task: str | None = None, **data) -> Plan:
    return open_plan(path, DataConfig(**data), task)


@pytest.mark.parametrize(
    "names",
    [
        "premise,hypothesis,label",
        "sentence1,sentence2,label",
        "question,answer,label",
        "text,target,polarity",
        "Text,Text_Pair,y",
    ],
)
def test_pairs_by_name(tmp_path, names: str) -> None:
    found = plan(write(tmp_path / "p.csv", names))
    assert list(found.columns) == ["pair", "label"]
    assert found.settings["data.input"] == "pair"
    assert next(found.rows()).values == (["anna sleeps in ulm", "anna sleeps"], "yes")
    assert f'and {names.split(",")[1]!r} (text_pair="none": the first alone)' in found.summary


def test_settings_decide(tmp_path) -> None:
    path = write(tmp_path / "p.csv", "premise,hypothesis,label")
    assert list(plan(path, text_pair="none").columns) == ["text", "label"]
    turned = plan(path, text="hypothesis", text_pair="premise")
    assert next(turned.rows()).values[0] == ["anna sleeps", "anna sleeps in ulm"]
    other = plan(write(tmp_path / "q.csv", "one,two,label"), text_pair="two")
    assert next(other.rows()).values[0] == ["anna sleeps in ulm", "anna sleeps"]


def test_a_target_alone_is_a_label(tmp_path) -> None:
    rows = [(text, label) for text, _, label in ROWS]
    assert list(plan(write(tmp_path / "p.csv", "text,target", rows)).columns) == ["text", "label"]


def test_what_is_not_read_is_said(tmp_path) -> None:
    rows = [("a fine film of old", f"a long title number {i}", "xy"[i % 2]) for i in range(9)]
    found = plan(write(tmp_path / "p.csv", "text,heading,label", rows))
    assert "; 'heading' is not read (text_pair=\"heading\" reads both)" in found.summary


def test_numbers_of_pairs(tmp_path) -> None:
    rows = [(f"a {i} b c", f"b {i} d e", f"{i / 7:.3f}") for i in range(40)]
    found = plan(write(tmp_path / "p.csv", "sentence1,sentence2,score", rows))
    assert found.task == "regress"
    assert list(found.columns) == ["pair", "number"]


def test_opinions_of_three_lines(tmp_path) -> None:
    path = tmp_path / "some.seg"
    path.write_text("the $T$ was bad\nold staff\n-1\nI like $T$ !\nfood\n1\n" * 4)
    found = plan(path)
    assert next(found.rows()).values == (["the $T$ was bad", "old staff"], "-1")
    path.write_text("the $T$ was bad\nstaff\n-1\nI like food\nfood\n1\n")
    with pytest.raises(DataError, match=r"some.seg:4: an opinion is a sentence with \$T\$"):
        list(plan(path, "classify").rows())
    path.write_text("the $T$ was bad\nstaff\n-1\nI like $T$\n")
    with pytest.raises(DataError, match="the last opinion has 1 of 3 lines"):
        list(plan(path, "classify").rows())


BAD = {
    "two columns that are called so": ("one,two,label", {"input": "pair"}),
    "the same column 'premise'": (
        "premise,hypothesis,label",
        {"text": "premise", "text_pair": "premise"},
    ),
    "there is no column 'claim'": ("premise,hypothesis,label", {"text_pair": "claim"}),
}


@pytest.mark.parametrize("message", BAD)
def test_refused(tmp_path, message: str) -> None:
    names, data = BAD[message]
    with pytest.raises(DataError, match=message):
        plan(write(tmp_path / "p.csv", names), "classify", **data)


def test_given_as_strings_and_tuples() -> None:
    assert as_pair("a b ||| c") == as_pair("a b\tc") == as_pair(("a b", "c")) == ("a b", "c")
    for bad in ("a b", ("a",), "a ||| b ||| c", None):
        with pytest.raises(DataError, match="two texts are read together"):
            as_pair(bad, "item 1")
    with pytest.raises(DataError, match="item 3: a int is not a text"):
        as_pair(("a", 5), "item 3")


def test_the_longer_text_is_cut_first() -> None:
    first, second = np.array([9, 2, 9, 1, 3]), np.array([2, 9, 9, 1, 3])
    assert share_room(first, second, 6).tolist() == [[4, 2], [2, 4], [3, 3], [1, 1], [3, 3]]


def test_sequences_of_pairs() -> None:
    sides = Ragged.of([np.array(own) for own in ([5, 6, 7], [8], [9], [5, 6])])
    frame = PairFrame((2,), (3,), (3,))
    found = TokenPairs.of_sides(sides, pair_frame=frame, room=3)
    assert found[0].tolist() == [2, 5, 6, 3, 8, 3]
    assert found[1].tolist() == [2, 9, 3, 5, 6, 3]
    assert found.firsts.tolist() == [4, 3]
    assert found.shortened == 1
    assert found.select(np.array([1]))[0].tolist() == found[1].tolist()
    empty = TokenPairs.of_sides(Ragged.of([np.array([5]), np.array([], int)]), pair_frame=frame)
    assert empty[0].tolist() == [2, 5, 3, 1, 3]


def test_no_text_can_spell_the_separator() -> None:
    field = PairField("pair", TokenizerConfig(kind="word", split="space"))
    field.tokenizer = WordTokenizer(Vocab.of(["a", "b"], specials=PAIR_SPECIALS), split="space")
    batch = field.collate(field.encode([("a <sep>", "b"), ("a", "")]), np.arange(2))
    assert batch.ids.tolist() == [[3, 1, 2, 4], [3, 2, 1, 0]]
    assert batch.firsts.tolist() == [3, 2]
    assert batch.lengths.tolist() == [4, 3]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> unspool.api.run.Run:
    folder = tmp_path_factory.mktemp("pairs")
    path = write(folder / "p.csv", "premise,hypothesis,label", [*ROWS, ("anna runs", "", "yes")])
    torch.manual_seed(1)
    return unspool.train(
        path, model="gru", out=folder / "run", hidden=6, embedding=5, epochs=1, baseline=False
    )


def test_pairs_from_python(run, tmp_path) -> None:
    one = run.predict(("anna sleeps", "carl runs"))
    same = run.predict(["anna sleeps ||| carl runs"])
    frame = run.predict({"premise": ["anna sleeps"], "hypothesis": ["carl runs"]})
    assert len({float(own[0].probability) for own in (one, same, frame)}) == 1
    assert one[0].text == "anna sleeps ||| carl runs"
    with pytest.raises(DataError, match="two texts are read together"):
        run.predict(["anna sleeps"])
    with pytest.raises(unspool.errors.ConfigError, match="the second comes after the whole first"):
        run.stream()
    assert run.evaluate(write(tmp_path / "q.csv", "premise,hypothesis,label")).metrics


def test_both_texts_are_looked_at(run) -> None:
    found = run.trace("anna sleeps ||| carl runs now")
    assert found.tokens == ["anna", "sleeps", "<sep>", "carl", "runs", "now"]
    (between,) = found.find("pair_attention")
    assert between.values.shape == (1, 6, 6)
    assert not between.values[0, :3, :3].any()
    states = [own.values.shape[0] for own in found.find("hidden_state")]
    assert states == [6, 6]
    assert [own.layer for own in found.find("hidden_state")] == [1, 2]
    why = run.explain("anna sleeps ||| carl runs now")
    assert list(why.tokens) == found.tokens
