"""What the page claims of the Transformer, of models that its commands train."""

from __future__ import annotations

import numpy as np
import pytest

from unspool import Run

ORDER = (
    'unspool predict runs/positions "the food was good , not bad at all"'
    ' "the food was bad , not good at all"'
)
HUNGRY, SWEET, TIRED = (
    "The cat drank the milk because it was hungry",
    "The cat drank the milk because it was sweet",
    "The animal didn't cross the street because it was too tired",
)
FRENCH = (
    'unspool generate runs/corpus-transformer --prompt "i grew up in france and i speak fluent"'
    " --length 1 --temperature 0"
)
FLUENT = {"france": "french", "spain": "spanish", "italy": "italian", "poland": "polish"}
SKY = 'unspool predict runs/masked "the clouds are in the <mask>"'

pytestmark = pytest.mark.course


def test_without_positions_a_transformer_hardly_beats_a_coin(seeded) -> None:
    assert best_accuracy(seeded.made("runs/no-positions")) < 0.65


def test_with_positions_it_learns_and_tells_good_not_bad_from_bad_not_good(seeded) -> None:
    labels = [line.split("\t")[0] for line in seeded.type(ORDER).splitlines()]
    assert labels == ["praise", "complaint"]
    assert best_accuracy(seeded.made("runs/positions")) > 0.95


@pytest.mark.parametrize(
    ("text", "stands_for", "reason"),
    [(HUNGRY, "cat", "hungry"), (SWEET, "milk", "sweet"), (TIRED, "animal", "tired")],
)
def test_in_the_first_layer_heads_of_it_look_at_its_noun_and_at_the_reason(
    seeded, text, stands_for, reason
) -> None:
    run, words = seeded.made("runs/it"), text.split()
    (answer,) = run.predict([text])
    assert f"it/{stands_for}" in str(answer).split()
    first = run.trace(text).find("self_attention")[0]
    assert (first.layer, first.axes) == (1, ("head", "read", "read"))
    of_it = first.values[:, words.index("it")]  # (heads, words)
    for word in (stands_for, reason):
        assert of_it[:, words.index(word)].max() > 0.5


def test_the_cat_and_the_animal_are_what_the_page_asks_about(course) -> None:
    for text, step, answer in ((HUNGRY, 7, "cat"), (TIRED, 8, "animal")):
        (line,) = (line for line in course.lines if f'"{text}" --step {step}' in line)
        assert course.type(line).startswith(f"'{answer}' at 'it'")


def test_a_transformer_speaks_the_language_of_where_it_grew_up(seeded) -> None:
    assert seeded.type(FRENCH) == "i grew up in france and i speak fluent french\n"
    run = seeded.made("runs/corpus-transformer")
    for country, language in FLUENT.items():
        text = f"i grew up in {country} and i speak fluent"
        reason, place = run.explain(text), text.split().index(country)
        assert reason.answer == language
        assert reason.tokens[int(reason.values.argmax())] == "fluent"
        without = {each.token: each.answer_value for each in reason.deletions}
        assert without.pop(place) < 0.5
        assert min(without.values()) > 0.8
        (weights,) = (each.values for each in run.trace(text).find("causal_attention"))
        assert weights[:, -1, place].max() > 0.5
        assert not np.triu(weights, 1).any()


def test_a_hidden_word_is_guessed_from_the_others(seeded) -> None:
    assert seeded.type(SKY).startswith("sky ")
    (answer,) = seeded.made("runs/masked").predict(["the fish are in the <mask>"])
    assert str(answer).startswith("sea ")


def best_accuracy(run: Run) -> float:
    """On the validation part, of the weights that are kept."""
    return max(row["valid_accuracy"] for row in run.metrics() if "valid_accuracy" in row)
