"""Languages of sentences, and of real texts where they are at hand."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from unspool.text.languages import LETTERS, NAMES, NUMBERS, SHARES, WORDS, languages

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
at_hand = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not here")
SENTENCES = {
    "English": "I do not know what they would have said about all of this.",
    "German": "Ich weiß nicht, was sie über das alles gesagt hätten.",
    "Dutch": "Ik weet niet wat ze over dit alles zouden hebben gezegd.",
    "French": "Je ne sais pas ce qu'ils auraient dit de tout cela.",
    "Spanish": "No sé qué habrían dicho ellos sobre todo esto, pero no me importa.",
    "Portuguese": "Não sei o que eles teriam dito sobre tudo isso, mas não faz mal.",
    "Italian": "Non so che cosa avrebbero detto di tutto questo, ma non importa.",
    "Romanian": "Nu știu ce ar fi spus despre toate acestea, dar nu contează pentru mine.",
    "Swedish": "Jag vet inte vad de skulle ha sagt om allt det här.",
    "Danish": "Jeg ved ikke, hvad de ville have sagt, og hvorfor det bliver sådan af sig selv.",
    "Norwegian": "Jeg vet ikke hva de ville ha sagt, og hvorfor det blir slik av seg selv nå.",
    "Finnish": "En tiedä, mitä he olisivat sanoneet, mutta se ei ole minun asiani.",
    "Polish": "Nie wiem, co by o tym wszystkim powiedzieli, ale to już nie jest ważne.",
    "Czech": "Nevím, co by o tom všem řekli, ale už to není důležité, protože jsem tady.",
    "Hungarian": "Nem tudom, hogy mit mondtak volna erről, de az már nem is fontos.",
    "Turkish": "Bu konuda ne söyleyeceklerini bilmiyorum ama benim için çok önemli değil.",
    "Russian": "Я не знаю, что бы они сказали обо всём этом, но это не важно.",
    "Ukrainian": "Я не знаю, що вони сказали б про все це, але це вже не має значення.",
    "Bulgarian": "Не знам какво биха казали за всичко това, но това вече не е важно.",
}


def test_every_language_is_known_by_a_sentence() -> None:
    assert list(SENTENCES) == NAMES
    assert languages(list(SENTENCES.values())) == NAMES


def test_what_is_not_sure_has_none() -> None:
    texts = [
        "",
        "1234 !?",
        "Tokyo",
        "ACGTTGCA",
        "Go.",
        "die",
        "Müller",
        "日本語です",
        "pizza spaghetti",
    ]
    assert languages(texts) == [""] * len(texts)
    assert languages([]) == []
    both = "I do not know what they said; ich weiß nicht, was sie über das gesagt haben"
    assert languages([both]) == [""]


def test_only_the_beginning_is_read_and_company_is_not() -> None:
    texts = [*SENTENCES.values(), "x " * 300 + SENTENCES["English"]]
    assert languages(texts) == [languages([text])[0] for text in texts]
    assert languages(texts)[-1] == ""


def test_evidence_is_shared_among_languages() -> None:
    whole = SHARES.sum(1)
    assert np.isin(np.round(whole, 5), [0, 0.5, 1]).all()
    assert whole[-1] == 0
    assert SHARES[NUMBERS["the"]].tolist() == [1.0] + [0.0] * (len(NAMES) - 1)
    assert set(LETTERS) <= set(WORDS)


def lines(name: str) -> list[str]:
    with gzip.open(SHARED / name, "rt", encoding="utf-8") as file:
        return file.read().strip().split("\n")


def shares(texts: list[str]) -> dict[str, float]:
    return {name: n / len(texts) for name, n in Counter(languages(texts)).items()}


@at_hand
@pytest.mark.parametrize(
    ("side", "name", "least"), [("en", "English", 0.85), ("de", "German", 0.95)]
)
def test_captions(side: str, name: str, least: float) -> None:
    found = shares(lines(f"mt/multi30k/train.{side}.gz")[:5000])
    assert found[name] > least
    assert sum(share for own, share in found.items() if own not in (name, "")) < 0.001


@at_hand
@pytest.mark.parametrize(("side", "name"), [(0, "English"), (1, "French")])
def test_short_sentences(side: int, name: str) -> None:
    rows = lines("mt/manythings_eng-fra/fra.txt.gz")[::29]
    texts = [row.split("\t")[side] for row in rows]
    found, long = shares(texts), shares([text for text in texts if len(text.split()) >= 8])
    assert found[name] > 0.7
    assert long[name] > 0.92
    assert sum(share for own, share in found.items() if own not in (name, "")) < 0.001


def test_letters_alone_are_no_words() -> None:
    assert languages(["c a j l d t y n à", "a", "y a l a", "I a a I"]) == ["", "", "", ""]
    assert languages(["il y a un chat dans la maison"]) == ["French"]
