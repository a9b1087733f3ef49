"""answer: spans against brute force, scores against SQuAD's own script, columns, bad input,
contexts in windows, and stories."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import unspool
from unspool.api.settings import draft_config
from unspool.config import DataConfig, TokenizerConfig
from unspool.data.fields.pair import PairField
from unspool.data.fields.question import QuestionForm, context_windows
from unspool.data.fields.story import as_story
from unspool.errors import ConfigError, DataError, UserError
from unspool.nn.models.story import MemoryHops, QueryReduction
from unspool.nn.taps import record
from unspool.search.decoding import Decoding
from unspool.tasks import TASKS
from unspool.tasks.answering.answer import score
from unspool.tasks.answering.reading import best_of_windows, best_span, best_threshold
from unspool.tasks.planner import open_plan
from unspool.text.subwords import fit_bpe
from unspool.text.token_offsets import token_offsets
from unspool.text.tokenizers import NFC, CharTokenizer, WordTokenizer
from unspool.text.vocab import Vocab


def test_scores_are_those_of_squad() -> None:
    """Of random strings; the scores were made by the evaluation script of SQuAD 2.0 itself."""
    stored = json.loads(Path(__file__).with_name("squad_scores.json").read_text())
    for given, wanted, exact, f1 in stored:
        assert score(given, wanted) == (exact, pytest.approx(f1, abs=1e-9)), (given, wanted)
    assert score("cat", ["a dog", "the cat"]) == (1, 1)
    assert score("", []) == (1, 1)
    assert score("cat", []) == (0, 0)


def test_best_span_against_all_spans() -> None:
    rng = np.random.default_rng(4)
    for steps, longest in ((1, 3), (5, 2), (9, 9), (12, 4)):
        starts, stops = rng.normal(size=(2, steps))
        every = {
            (i, j): starts[i] + stops[j]
            for i in range(steps)
            for j in range(i, min(steps, i + longest))
        }
        i, j, found = best_span(starts, stops, longest)
        assert found == pytest.approx(max(every.values()))
        assert every[i, j] == pytest.approx(found)


def test_best_of_several_windows() -> None:
    low = np.full((6, 2), -9.0)
    one, other = low.copy(), low.copy()
    one[0], other[0] = (1.0, 1.0), (0.5, 0.0)  # no answer
    one[3, 0], one[4, 1] = 2.0, 1.0
    other[2, 0], other[2, 1] = 2.0, 3.0
    found = best_of_windows([one, other], [2, 2], [0, 7], 4)
    assert (found.start, found.stop) == (7, 7)
    assert (found.span, found.none) == (5.0, 0.5)


def test_threshold_against_all_thresholds() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        margins, answered = rng.normal(size=12), rng.random(12)
        silent = (rng.random(12) < 0.5).astype(float)
        every = [
            np.where(margins > t, answered, silent).mean()
            for t in [margins.min() - 1, *margins, margins.max() + 1]
        ]
        t = best_threshold(margins, answered, silent)
        assert np.where(margins > t, answered, silent).mean() == pytest.approx(max(every))


TEXTS = ["Ulm, and  Bern's 2nd café!", "", " a\tb ", "naïve Übung 日本 — x"]


def test_tokens_map_back_to_characters() -> None:
    bpe = fit_bpe(TEXTS * 3, size=280, min_count=1, normalizer=NFC)
    for text in TEXTS:
        words = WordTokenizer(Vocab.of([]))
        for (start, stop), piece in zip(token_offsets(words, text), words.pieces(text)):
            assert text[start:stop] == piece
        chars = CharTokenizer(Vocab.of([]))
        assert [text[a:b] for a, b in token_offsets(chars, text)] == list(text)
        places = token_offsets(bpe, text)
        assert len(places) == len(bpe.ids(text))
        if text.isascii() and text:
            assert "".join(text[a:b] for a, b in places) == text


def test_windows_cover_a_context() -> None:
    field = PairField("question", TokenizerConfig(kind="word"), form=QuestionForm())
    context = " ".join(f"w{i}" for i in range(30))
    field.tokenizer = WordTokenizer(Vocab.of([*context.split(), "who"]))
    questions = field.encode([("who ?", context), ("who", "w1 w2")])
    found = context_windows(questions, 14, 0)
    assert found.lengths.max() <= 14
    assert sorted(set(found.windows.origin.tolist())) == [0, 1]
    seen = set()
    for row in np.flatnonzero(found.windows.origin == 0).tolist():
        own = found[row][found.firsts[row] :]
        first = int(found.windows.first[row])
        assert field.tokenizer.decode(own) == " ".join(f"w{first + i}" for i in range(len(own)))
        seen |= set(range(first, first + len(own)))
    assert seen == set(range(30))
    assert questions.tokens_of(0, context.index("w7"), context.index("w9") - 1) == (7, 8)


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def spans(path: Path, **data) -> list:
    return [row.values[1] for row in open_plan(path, DataConfig(**data), "answer").rows()]


CONTEXT = "Anna lives in Ulm, and Carl in Bern."
ROW = {"question": "Where is Anna?", "context": CONTEXT}


def test_answers_in_many_spellings(tmp_path) -> None:
    path = tmp_path / "q.jsonl"
    for own in (
        {"answer": "Ulm"},
        {"answers": [{"text": "Ulm", "answer_start": 14}]},
        {"answers": {"text": ["Ulm"], "answer_start": [14]}},
        {"answer": "Ulm", "start": 14},
        {"span": "(14, 17)"},
    ):
        rows = [{**ROW, **own}, {**ROW, **dict.fromkeys(own)}]
        assert spans(write(path, rows)) == [[[14, 17]], []], own
    marked = {
        "question": "x?",
        "review": CONTEXT + " ANSWERNOTFOUND",
        "human_ans_indices": "(37, 51)",
    }
    table = write(path, [marked, {**marked, "human_ans_indices": "(14, 17)"}])
    found = open_plan(table, DataConfig(), None)
    assert found.task == "answer"
    assert "ANSWERNOTFOUND" in found.summary
    assert [row.values[1] for row in found.rows()] == [[], [[14, 17]]]
    assert next(found.rows()).values[0][1] == CONTEXT + " "


BAD = {
    "q.jsonl:1: the answer does not stand in the context; got 'Rome'": {"answer": "Rome"},
    "q.jsonl:1: the answer lies outside of its context of 36 characters": {"span": "(30, 40)"},
    "the answer does not stand at character 3 of the context, but at 14": {
        "answer": "Ulm",
        "start": 3,
    },
}


@pytest.mark.parametrize("message", BAD)
def test_bad_answers(tmp_path, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        spans(write(tmp_path / "q.jsonl", [{**ROW, **BAD[message]}]))


def test_a_question_without_a_context(tmp_path) -> None:
    path = write(tmp_path / "q.jsonl", [{"question": "x?", "answer": "y"}])
    with pytest.raises(DataError, match="has no column of the contexts, which answer needs"):
        spans(path)
    (tmp_path / "s.txt").write_text("1 Where is Anna?\tUlm\t1\n")
    with pytest.raises(DataError, match=r"s.txt:1: a question without a story before it"):
        open_plan(tmp_path / "s.txt", DataConfig(format="stories"), "answer")
    (tmp_path / "d.json").write_text('{"data": [{"paragraphs": [{"qas": []}, 5]}]}')
    with pytest.raises(DataError, match=r"d.json: is no JSON as SQuAD has it"):
        open_plan(tmp_path / "d.json", DataConfig(), "answer")


EMPTY = [
    ("q", {"question": "", "context": "Ulm is here.", "answer": "Ulm"}),
    ("q", {"question": "Who?", "context": "", "answer": ""}),
    ("q", {"question": "Who?", "context": None, "answer": ""}),
    ("q", {"question": "Who?", "context": "  ", "answer": ""}),
    ("q", {"question": "  ", "context": "Ulm is here.", "answer": "Ulm"}),
    ("s", {"story": [], "question": "Who?", "answer": "Ulm"}),
    ("s", {"story": ["Anna left."], "question": "", "answer": "Ulm"}),
    ("s", {"story": ["Anna left."], "question": "Who?", "answer": ""}),
]


@pytest.mark.parametrize(("kind", "row"), EMPTY)
def test_rows_with_an_empty_side_are_left_out(tmp_path, kind: str, row: dict) -> None:
    told = {
        "q": {"context": "Anna and Eva are here."},
        "s": {"story": ["Anna left.", "Eva came."]},
    }[kind]
    good = [{**told, "question": f"Who {i}?", "answer": ("Anna", "Eva")[i % 2]} for i in range(12)]
    path = write(tmp_path / "e.jsonl", [*good, row])
    plan = open_plan(path, DataConfig(), "answer")
    config = draft_config("answer", None, plan.settings, None)
    corpus = TASKS["answer"].load_corpus(config, {"train": plan})
    assert sum(map(len, corpus.parts.values())) == 12
    assert any("left out" in note and f"{path}:13" in note for note in corpus.notes), corpus.notes


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> unspool.api.run.Run:
    """One that has learnt to find a place, and that of Eva nothing is said."""
    folder = tmp_path_factory.mktemp("answering")
    places = ["Ulm", "Bern", "Kiel", "Jena"]
    rows = []
    for i in range(80):
        one, other = places[i % 4], places[(i // 4) % 4]
        context = f"Anna lives in {one} , and Carl works in {other} ."
        who, answer = [("Anna live", one), ("Carl work", other), ("Eva live", "")][i % 3]
        rows.append({"question": f"Where does {who} ?", "context": context, "answer": answer})
    return unspool.train(
        write(folder / "q.jsonl", rows), model="bigru", out=folder / "run", hidden=16, embedding=16,
        epochs=14, batch=8, lr=1e-2, dropout=0.0, test_share=0.2,
    )  # fmt: skip


def test_spans_are_learnt(run, tmp_path) -> None:
    assert run.report.metrics["f1"] > run.report.metrics["no_answer_f1"] + 0.2
    (found,) = run.predict(
        ("Where does Anna live ?", "Anna lives in Kiel , and Carl works in Ulm .")
    )
    assert found.context[found.start : found.stop] == found.answer
    assert found.to_json()["question"] == "Where does Anna live ?"
    (empty,) = run.predict([("Where does Anna live ?", "")])
    assert (empty.answer, empty.note) == ("", "without a context")
    long = "Nobody knows . " * 200 + "Anna lives in Kiel , and Carl works in Ulm ."
    (far,) = run.predict(("Where does Anna live ?", long))
    assert far.context[far.start : far.stop] == far.answer
    look = run.trace("Where does Anna live ? ||| Anna lives in Ulm .")
    assert [choice.asked for choice in look.choices] == ["start", "end"]
    assert look.find("pair_attention")
    again = unspool.load(run.path)
    assert again.task.threshold == run.task.threshold
    copy = shutil.copytree(run.path, tmp_path / "copy")
    (copy / "hashes.json").unlink()
    for threshold in ("1" + "0" * 400, '"x"', "null"):
        (copy / "answering.json").write_text(f'{{"threshold": {threshold}}}')
        with pytest.raises(UserError, match=r"answering\.json: holds no threshold"):
            unspool.load(copy)


def test_stories_are_read(tmp_path) -> None:
    path = tmp_path / "s.txt"
    path.write_text(
        "1 Anna went to Ulm.\n2 Carl went to Bern.\n3 Where is Anna? \tUlm\t1\n"
        "4 Anna went to Kiel.\n5 Where is Anna?\tKiel\t4\n"
        "1 Eva left.\n2 Where is Eva?\tUlm\t1\n"
    )
    found = open_plan(path, DataConfig())
    assert found.task == "answer"
    rows = [row.values for row in found.rows()]
    assert rows[1] == ((["Anna went to Ulm.", "Carl went to Bern.", "Anna went to Kiel."],
                        "Where is Anna?"), "Kiel")  # fmt: skip
    assert as_story("Anna left. Eva came! ||| Who?") == (["Anna left.", "Eva came!"], "Who?")
    with pytest.raises(DataError, match="a story is a list of sentences with a question"):
        as_story(["a"], "item 1")


def test_hops_are_their_equations() -> None:
    torch.manual_seed(1)
    memory = MemoryHops(4, hops=2, ages=3)
    m, u = torch.randn(2, 5, 4), torch.randn(2, 4)
    sizes = torch.tensor([5, 2])
    with record(memory, "alignment") as trace:
        found = memory(m, u, sizes).vector
    for row, size in enumerate(sizes.tolist()):
        own, asked = m[row, 5 - size :], u[row]
        for hop, (key, value) in enumerate(zip(memory.keys, memory.values)):
            ages = [min(size - 1 - s, 2) for s in range(size)]
            e = torch.stack([asked @ (key(own[s]) + memory.ages[0, ages[s]]) for s in range(size)])
            alpha = (e / 2).softmax(0)
            torch.testing.assert_close(trace["alignment"][row, hop, 5 - size :], alpha)
            asked = asked + sum(
                alpha[s] * (value(own[s]) + memory.ages[1, ages[s]]) for s in range(size)
            )
        torch.testing.assert_close(found[row], asked)


def test_query_reduction_is_its_recurrence() -> None:
    torch.manual_seed(2)
    memory = QueryReduction(4, hops=2)
    x, u, sizes = torch.randn(2, 5, 4), torch.randn(2, 4), torch.tensor([5, 2])
    with torch.no_grad():  # gates that are neither open nor closed
        for gate in memory.gates:
            gate.bias.zero_()
    with record(memory, "alignment") as trace:
        found = memory(x, u, sizes).vector
    for row, size in enumerate(sizes.tolist()):
        own = x[row, 5 - size :]
        q = [u[row]] * size
        for hop, (gate, candidate) in enumerate(zip(memory.gates, memory.candidates)):
            z, r = torch.stack([gate(a * b) for a, b in zip(own, q)]).sigmoid().unbind(1)
            c = [r[s] * candidate(torch.cat([own[s], q[s]])).tanh() for s in range(size)]
            h, forwards = torch.zeros(4), []
            share = torch.zeros(size)
            for s in range(size):
                h = z[s] * c[s] + (1 - z[s]) * h
                share = (1 - z[s]) * share + z[s] * torch.eye(size)[s]
                forwards.append(h)
            torch.testing.assert_close(trace["alignment"][row, hop, 5 - size :], share)
            g, backwards = torch.zeros(4), []
            for s in reversed(range(size)):
                g = z[s] * c[s] + (1 - z[s]) * g
                backwards.insert(0, g)
            q = [a + b for a, b in zip(forwards, backwards)]
        torch.testing.assert_close(found[row], h)


MOVES = ["Anna", "Carl", "Eva"]


@pytest.fixture(scope="module")
def stories(tmp_path_factory) -> Path:
    """Who went where last: 300 questions."""
    path = tmp_path_factory.mktemp("stories") / "s.txt"
    rng = random.Random(6)
    lines = []
    for _ in range(300):
        moves = [(rng.choice(MOVES), rng.choice(["Ulm", "Bern", "Kiel"])) for _ in range(4)]
        who = rng.choice(moves)[0]
        where = dict(moves)[who]
        lines += [f"{i} {a} went to {b}." for i, (a, b) in enumerate(moves, 1)]
        lines.append(f"5 Where is {who}?\t{where}\t1")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_stories_are_learnt_by_reduction(stories, tmp_path) -> None:
    run = unspool.train(
        stories, out=tmp_path / "run", hidden=32, embedding=16, epochs=25, lr=5e-3, batch=8
    )
    assert (run.config.model_name, run.config.model.hops) == ("reduction", 2)
    assert run.report.metrics["accuracy"] > 0.9
    (found,) = run.predict(
        "Carl went to Ulm. Anna went to Bern. Carl went to Kiel. ||| Where is Carl?"
    )
    assert found.label == "Kiel"
    look = run.trace("Carl went to Ulm. Anna went to Bern. Carl went to Kiel. ||| Where is Carl?")
    (weights,) = look.find("alignment")
    assert weights.values[-1].argmax() == 2


def test_answers_are_written(tmp_path) -> None:
    """What two people carry, in pairs of which the training data lack one order."""
    rng = random.Random(7)
    things = ["milk", "book", "ball"]
    lines = []
    for _ in range(400):
        first, second = rng.sample(things, 2)
        if (first, second) == ("ball", "milk"):
            continue
        lines += [f"1 Anna got the {first}.", f"2 Anna got the {second}."]
        lines.append(f"3 What has Anna?\t{first},{second}\t1")
    path = tmp_path / "s.txt"
    path.write_text("\n".join(lines) + "\n")
    run = unspool.train(
        path, out=tmp_path / "run", model="memory", answer="write", hidden=32, embedding=32,
        epochs=15, lr=1e-2, batch=8, cell="gru", dropout=0.0,
    )  # fmt: skip
    assert run.report.metrics["accuracy"] > 0.9
    assert "right in every token" in str(run.report)
    story = "Anna got the milk. Anna got the ball. ||| What has Anna?"
    (found,) = unspool.load(run.path).predict(story, Decoding(nbest=2))
    assert found.answer.replace(" ", "") == "milk,ball"
    assert next(own["answer"] for own in found.to_json()["nbest"]) == found.answer
    (unseen,) = run.predict(
        "Anna got the ball. Anna got the milk. ||| What has Anna?", Decoding(beam=9, nbest=9)
    )
    assert "ball,milk" in [own.translation.replace(" ", "") for own in unseen.nbest]
    look = run.trace(story)
    assert [choice.answer for choice in look.choices][::2] == ["milk", "ball"]
    (weights,) = look.find("alignment")
    assert weights.values.shape == (4, 2)
    for name, settings in (
        ("an answer is written from a memory of sentences", {"hops": 0, "model": "gru"}),
        ("a decoder needs vectors of the tokens it has written", {"embedding": 0}),
    ):
        with pytest.raises(ConfigError, match=name):
            unspool.train(path, answer="write", out=tmp_path / "no", **settings)


def test_a_context_needs_a_network(tmp_path, stories) -> None:
    path = write(tmp_path / "q.jsonl", [{**ROW, "answer": "Ulm"}] * 20)
    with pytest.raises(ConfigError, match=r"model\.encoder=none is for stories"):
        unspool.train(path, model="reduction", out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"model\.answer is read only with data\.input=story"):
        unspool.train(path, answer="write", out=tmp_path / "run")
    with pytest.raises(ConfigError, match="a story that is read as one sequence needs a network"):
        unspool.train(stories, model="memory", hops=0, out=tmp_path / "run")
