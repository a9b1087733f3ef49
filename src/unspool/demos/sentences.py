"""Small generated corpora of the course, each of which needs one idea.

corpus    sentences to learn language and word vectors from; "stick" is a thing and a deed in them
teddy     "Teddy Roosevelt" is a name and "Teddy bears" are not: what comes after a word decides
it        "the cat drank the milk because it was hungry": what "it" stands for, as a tag of "it"
"""

from __future__ import annotations

import random
from itertools import product

Tagged = list[tuple[str, str]]  # words with their tags

PAIRED: dict[str, list[tuple[str, ...]]] = {  # forms, with the words that belong together
    "the {} are in the {}": [
        ("clouds", "sky"), ("stars", "sky"), ("fish", "sea"), ("birds", "trees"),
        ("children", "garden"),
    ],
    "i grew up in {} and i speak fluent {}": [
        ("france", "french"), ("spain", "spanish"), ("italy", "italian"), ("poland", "polish"),
    ],
}  # fmt: skip
FREE: dict[str, list[tuple[str, ...]]] = {  # forms, with the choices for each gap
    "{} i took my {} for a {}": [
        ("this morning", "last night", "yesterday", "today"), ("cat", "dog", "horse"),
        ("walk", "ride", "run"),
    ],
    "{} me the {}": [("give", "bring", "show", "throw"), ("stick", "ball", "rope", "cup")],
    "let's {} to {}": [
        ("stick", "hold", "cling"), ("it", "that", "them", "improving our work"),
    ],
}  # fmt: skip


def corpus(count: int, seed: int) -> list[str]:
    """`count` sentences, all forms alike often."""
    rng = random.Random(seed)
    gaps = {**PAIRED, **{form: list(product(*words)) for form, words in FREE.items()}}
    forms = list(gaps)
    lines = []
    for _ in range(count):
        form = rng.choice(forms)
        lines.append(form.format(*rng.choice(gaps[form])))
    return lines


NAMES = {"Teddy": "bears", "Rose": "gardens", "Bill": "payments", "Mark": "sheets",
         "Baker": "shops", "Grace": "notes", "Frank": "answers", "Will": "papers"}  # fmt: skip
SURNAMES = ["Roosevelt", "Lincoln", "Carter", "Tyler", "Hopper", "Adams"]
THEY = ["are on sale", "are rare", "were in the news", "have become dear"]
ONE = ["was a great president", "has left early", "is in the news", "wrote a book"]
SAID = ['He said , "', 'She wrote , "', 'They shouted , "', 'Nobody said , "']


def teddy(count: int, seed: int) -> list[Tagged]:
    """Sentences in which half of the first names are none; tags are IOB2."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(count):
        first, things = rng.choice(list(NAMES.items()))
        person = rng.random() < 0.5
        name = [(first, "B-PER"), (rng.choice(SURNAMES), "I-PER")]
        middle = name if person else [(first, "O"), (things, "O")]
        end = rng.choice(ONE if person else THEY) + ' ! "'
        sentences.append([*untagged(rng.choice(SAID), "O"), *middle, *untagged(end, "O")])
    return sentences


DRINKERS, DRINKS = ["cat", "dog", "horse", "lamb", "calf", "bird"], ["milk", "water", "juice"]
WALKERS, WAYS = ["animal", "dog", "horse", "lamb", "cat", "bird"], ["street", "road", "river"]
NEEDS, TASTES = ["hungry", "thirsty", "greedy", "young"], ["sweet", "cold", "fresh", "warm"]
MOODS, SIZES = ["tired", "old", "scared", "lazy"], ["wide", "busy", "long", "dangerous"]
ELSE = "-"  # the tag of every word but "it"


def it(count: int, seed: int) -> list[Tagged]:
    """Sentences in which the last word decides which noun "it" is; that noun is the tag of "it"."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(count):
        drinks, first = rng.random() < 0.5, rng.random() < 0.5
        who = rng.choice(DRINKERS if drinks else WALKERS)
        what = rng.choice(DRINKS if drinks else WAYS)
        reason = rng.choice((NEEDS if first else TASTES) if drinks else (MOODS if first else SIZES))
        deed = rng.choice(["drank", "left", "wanted"]) if drinks else "didn't cross"
        degree = rng.choice(["", "so ", "too "])
        sentences.append(
            [
                *untagged(f"The {who} {deed} the {what} because", ELSE),
                ("it", who if first else what),
                *untagged(f"was {degree}{reason}", ELSE),
            ]
        )
    return sentences


def untagged(text: str, tag: str) -> Tagged:
    return [(word, tag) for word in text.split()]


def conll(sentences: list[Tagged]) -> str:
    """A word and its tag a line, a blank line after each sentence."""
    return "".join("".join(f"{word} {tag}\n" for word, tag in s) + "\n" for s in sentences)
