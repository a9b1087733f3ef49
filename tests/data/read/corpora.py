"""Pairs, questions and summaries, in the layouts in which public corpora ship them."""

from __future__ import annotations

import json
import pickle
from typing import Any

from messy import Messy, raw, table, text, zipped

COUNT = 40
KINDS = ("entailment", "neutral", "contradiction")
FIRST = [f"a man of {i} plays in the old park ." for i in range(COUNT)]
SECOND = [f"somebody is out number {i} ." for i in range(COUNT)]
GOLD = [KINDS[i % 3] for i in range(COUNT)]
SCORES = [f"{(i * 7 % 26) / 5:.3f}" for i in range(COUNT)]
ANSWERS = [f"Karl {i}" for i in range(COUNT)]
CONTEXTS = [
    f"In {1900 + i} the bridge was built by {ANSWERS[i]} . Snow fell." for i in range(COUNT)
]
QUESTION = "Who built it?"
START = CONTEXTS[0].index("Karl")
LONG = [f"{i} men met in the town hall and spoke about the river. " * 6 for i in range(COUNT)]
SHORT = [f"Meeting number {i}" for i in range(COUNT)]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows(*columns: Any) -> list[tuple[Any, ...]]:
    """A row of each place of the columns; a column that is no list is the same in all."""
    return list(zip(*(own if isinstance(own, list) else [own] * COUNT for own in columns)))


def pair(gold: str) -> list[tuple[Any, ...]]:
    return [([FIRST[0], SECOND[0]], gold)]


def answered(spans: list[list[int]], context: str = CONTEXTS[0]) -> list[tuple[Any, ...]]:
    return [([QUESTION, context], spans)]


NUMBERS = [str(i) for i in range(COUNT)]
PARSE = "( a ( b c ) )"
SPAN = [[START, START + len(ANSWERS[0])]]
HF = [{"text": [own], "answer_start": [c.index(own)]} for own, c in zip(ANSWERS, CONTEXTS)]
TWO = [
    {"text": [own, f"by {own}"], "answer_start": [c.index(own), c.index("by")]}
    for own, c in zip(ANSWERS, CONTEXTS)
]
SPELLED = [
    f"{{'text': array(['{own}'], dtype=object), 'answer_start': array([{c.index(own)}])}}"
    for own, c in zip(ANSWERS, CONTEXTS)
]
SCORE = '<?xml version="1.0"?>\n<!DOCTYPE score-partwise>\n<score-partwise version="3.1">\n'

CORPORA = [
    # Two texts: the label is what is answered about them, not what stands beside it
    Messy("snli.jsonl", text(lines([{"annotator_labels": [g], "captionID": f"{i}.jpg#1",
          "gold_label": g if i else "-", "pairID": f"{i}.jpg#1r", "sentence1": a,
          "sentence1_parse": PARSE, "sentence2": b, "sentence2_parse": PARSE}
          for i, (a, b, g) in enumerate(zip(FIRST, SECOND, GOLD))])), "classify", pair("-"), COUNT,
          "'sentence1' and 'sentence2'.*label in 'gold_label'"),
    Messy("mnli.tsv", text(table("index\tgenre\tsentence1_parse\tsentence1\tsentence2\tlabel1\t"
          "gold_label", "\t", rows(NUMBERS, ["fiction", "travel"] * 20, PARSE, FIRST, SECOND, GOLD,
          GOLD))), "classify", pair(GOLD[0]), COUNT, "label in 'gold_label' -> classify"),
    Messy("mnli-quotes.tsv", text("index\tsentence1\tsentence2\tgold_label\n" + "".join(
          f'{i}\t"{FIRST[i]}\t{SECOND[i]}\t{GOLD[i]}\n' for i in range(COUNT))), "classify",
          [(['"' + FIRST[0], SECOND[0]], GOLD[0])], COUNT),
    Messy("mrpc.txt", text("\ufeff" + table("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "\t",
          rows(["1", "0"] * 20, NUMBERS, NUMBERS, FIRST, SECOND))), "classify", pair("1"), COUNT,
          "'#1 String' and '#2 String'.*label in 'Quality'"),
    Messy("stsb.tsv", text(table("index\tgenre\tyear\tsentence1\tsentence2\tscore", "\t", rows(
          NUMBERS, "main-captions", "2012test", FIRST, SECOND, SCORES))), "regress",
          pair(SCORES[0]), COUNT, "number in 'score' -> regress"),
    Messy("stsb.csv", text(table("sentence1,sentence2,similarity_score", rows=rows(FIRST, SECOND,
          SCORES))), "regress", pair(SCORES[0]), COUNT, "number in 'similarity_score'"),
    Messy("sts-without-header.csv", text(table(None, "\t", rows(["news", "forum"] * 20, NUMBERS,
          FIRST, SECOND))), "classify", [(FIRST[0], "news")], COUNT,
          r"column 4 is not read \(--text-pair 4 reads both\)"),
    Messy("sick.txt", text(table("pair_ID\tsentence_A\tsentence_B\tentailment_label\t"
          "relatedness_score", "\t", rows(NUMBERS, FIRST, SECOND, GOLD, SCORES))), "classify",
          pair(GOLD[0]), COUNT, r"'entailment_label' \(or 'relatedness_score': --label\)"),
    Messy("sick-parts.txt", text(table("sentence_A\tsentence_B\tentailment_label\tSemEval_set",
          "\t", rows(FIRST, SECOND, GOLD, ["TRAIN", "TRIAL"] * 20))), "classify", pair(GOLD[0]),
          COUNT),
    Messy("quora.csv", text(table("id,qid1,qid2,question1,question2,is_duplicate", rows=rows(
          NUMBERS, NUMBERS, NUMBERS, FIRST, SECOND, ["0", "1"] * 20))), "classify", pair("0"),
          COUNT, "'question1' and 'question2'.*label in 'is_duplicate'"),
    Messy("wikiqa.tsv", text(table("QuestionID\tQuestion\tDocumentID\tSentenceID\tSentence\tLabel",
          "\t", rows(NUMBERS, FIRST, NUMBERS, NUMBERS, SECOND, ["0", "1"] * 20))), "classify",
          pair("0"), COUNT, "'Question' and 'Sentence'.*label in 'Label'"),
    Messy("boolq.jsonl", text(lines([{"question": a, "title": f"T {i}", "answer": bool(i % 2),
          "passage": b} for i, (a, b) in enumerate(zip(FIRST, SECOND))])), "classify",
          pair("false"), COUNT, "'question' and 'passage'.*label in 'answer'"),
    Messy("yes-no.csv", text(table("passage,question,answer", rows=rows(SECOND, FIRST, [
          "no", "yes"] * 20))), "classify", pair("no"), COUNT, "label in 'answer' -> classify"),
    # Answers in a context
    Messy("hf.jsonl", text(lines([{"id": str(i), "context": c, "question": QUESTION, "answers": a}
          for i, (c, a) in enumerate(zip(CONTEXTS, HF))])), "answer", answered(SPAN), COUNT),
    Messy("hf-two.jsonl", text(lines([{"context": c, "question": QUESTION, "answers": a} for c, a
          in zip(CONTEXTS, TWO)])), "answer", answered([*SPAN, [START - 3, SPAN[0][1]]]), COUNT),
    Messy("hf-dict.csv", text(table("context,question,answers", rows=rows(CONTEXTS, QUESTION, [
          str(own) for own in HF]))), "answer", answered(SPAN), COUNT, "answers in 'answers' ->"),
    Messy("hf-json.csv", text(table("context,question,answers", rows=rows(CONTEXTS, QUESTION, [
          json.dumps(own) for own in TWO]))), "answer", answered([*SPAN, [START - 3, SPAN[0][1]]]),
          COUNT),
    Messy("hf-numpy.csv", text(table("context,question,answers", rows=rows(CONTEXTS, QUESTION,
          SPELLED))), "answer", answered(SPAN), COUNT, "answers in 'answers' ->"),
    Messy("hf-none.csv", text(table("context,question,answers", rows=rows(CONTEXTS, QUESTION, [
          "{'text': array([], dtype=object), 'answer_start': array([], dtype=int32)}",
          *SPELLED[1:]]))), "answer", answered([]), COUNT),
    Messy("start-and-end.csv", text(table("context,question,answer_start,answer_end", rows=rows(
          CONTEXTS, QUESTION, [START] * COUNT, [START + 4] * COUNT))), "answer",
          answered([[START, START + 4]]), COUNT, "'answer_start' and 'answer_end'"),
    Messy("newsqa.csv", text(table("story_id,question,answer_char_ranges,story_text", rows=rows(
          NUMBERS, QUESTION, ["None|None", *[f"{START}:{START + 4}|None"] * (COUNT - 1)],
          CONTEXTS))), "answer", answered([]), COUNT, "contexts in 'story_text'"),
    Messy("newsqa-tokens.csv", text(table("story_id,story_text,question,answer_token_ranges",
          rows=rows(NUMBERS, CONTEXTS, QUESTION, "8:10"))),
          says=":2: answers are ranges of tokens.*got '8:10'. Give them as answer_char_ranges"),
    Messy("other-case.csv", text(table("context,question,answer", rows=rows(CONTEXTS, QUESTION, [
          own.lower() for own in ANSWERS]))), says=r":2: the answer does not stand.*\('Karl 0'\)"),
    Messy("bytes.csv", text(table("context,question,answer,answer_start", rows=rows([
          f"Über {own}" for own in CONTEXTS], QUESTION, ANSWERS, [START + 6] * COUNT))),
          says=f":2: the answer does not stand at character {START + 6} of.*at {START + 5};"),
    # Summaries
    Messy("cnn.csv", text(table("id,article,highlights", rows=rows(NUMBERS, LONG, SHORT))),
          "summarize", [(LONG[0].strip(), SHORT[0])], COUNT),
    Messy("news.csv", text(table("author,date,headlines,read_more,text", rows=rows(["A B", "C D"] *
          20, "03 Aug 2017", SHORT, "http://a.b", LONG))), "summarize",
          [(LONG[0].strip(), SHORT[0])], COUNT, r"'headlines' -> summarize.*--label author"),
    Messy("turned.csv", text(table("summary,text", rows=rows(LONG, SHORT))), "summarize",
          [(LONG[0].strip(), SHORT[0])], COUNT,
          r"documents in column 'summary', summaries in 'text', which are shorter \(--source text"
          " --target summary"),
    Messy("amazon.csv", text(table("Id,Score,Summary,Text", rows=rows(NUMBERS, ["1", "5"] * 20,
          SHORT, LONG))), "summarize", [(LONG[0].strip(), SHORT[0])], COUNT, "--label Score"),
    # No text, or none of these
    Messy("jsb.pickle", raw(pickle.dumps({"train": [[(60, 64)]]}, protocol=2)),
          says="is a pickle, which could run any code.*as JSON"),
    Messy("data_batch_1", raw(pickle.dumps({b"labels": [1, 2]}, protocol=3)),
          says="is a pickle, which could run any code"),
    Messy("old.pkl", raw(pickle.dumps([1, 2], protocol=0)), says="is a pickle"),
    Messy("a.musicxml", text(SCORE), says="is MusicXML, a score. Save it as MIDI"),
    Messy("score.xml", text(SCORE), says="is MusicXML, a score. Save it as MIDI"),
    Messy("a.mxl", zipped({"META-INF/container.xml": "<container/>", "score.xml": SCORE}),
          says="is MusicXML, a score, compressed. Save it as MIDI"),
    Messy("tunes.abc", text("X:1\nT:A tune\nM:6/8\nK:G\nGAB gab|dBG AFD|\n" * 9), "generate",
          says=r"tunes in ABC as letters \(compose reads MIDI", count=1),
    Messy("urls.csv", text(table("image_url,label", rows=rows([f"https://a.b/{i}.jpg" for i in
          range(COUNT)], ["cat", "dog"] * 20))), says=":2: is an address, and nothing is down"),
    Messy("instances.json", text(json.dumps({"images": [{"id": 1, "file_name": "1.jpg"}],
          "annotations": [{"image_id": 1, "bbox": [1, 2, 3, 4]}]})),
          says="annotations have no captions, and boxes.*captions_train2017.json"),
]  # fmt: skip
