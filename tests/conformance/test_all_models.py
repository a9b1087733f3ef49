"""What every network of every task must do: give the same answer alone, in a batch, padded, in any
order, tapped, in two threads and loaded again; be looked at; learn with all its weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from every_model import (
    CASES,
    NEEDED,
    USUAL,
    USUAL_SERIES,
    USUAL_STROKES,
    Made,
    assert_same,
    batches,
    in_rows,
    make,
    save_run,
    total,
    write_series,
    write_strokes,
)

import unspool
from unspool.data.fields.stream import TextStream
from unspool.errors import ConfigError
from unspool.insight.saliency import explain
from unspool.insight.summary import summary_of
from unspool.insight.trace import trace
from unspool.nn.taps import record, taps
from unspool.tasks import TASKS
from unspool.tasks.planner import open_inputs
from unspool.tasks.task import fits_directly


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("every")


@pytest.fixture(params=CASES, ids=str)
def made(request, folder) -> Made:
    return make(request.param, folder)


def answers(made: Made, items: list[Any], model: torch.nn.Module | None = None) -> list[Any]:
    """What the task says of some items, for JSON; of one that predicts nothing, its vectors."""
    task, model = made.task, model or made.model
    if task.answer is None:
        return [(read.words, read.layers.tolist()) for read in task.vectors(model, items)]
    options = task.options() if task.options is not None else None
    if hasattr(options, "length"):
        options = type(options)(length=4, temperature=0.0)
    return [answer.to_json() for answer in task.predict(model, items, options)]


def test_every_model_is_here() -> None:
    assert {case.task for case in CASES} == set(TASKS)
    reading = {name for name, kind in TASKS.items() if kind.transfer.reads_contextual}
    assert {case.task for case in CASES if case.from_elmo} == reading
    for name, kind in TASKS.items():
        found = {case.model for case in CASES if case.task == name}
        assert kind.default_model in found
        # A language model may not read in both directions; nothing else is left out.
        assert all(model.removeprefix("bi") in found for model in set(kind.models()) - found)


@torch.inference_mode()
def test_padding_and_batches_change_no_loss(made) -> None:
    """Alone there is no padding; in one batch of all rows nearly every row has some."""
    task, model, part = made
    if isinstance(task.input_field, TextStream):
        together = batches(task, part)
        alone = [row for batch in together for row in in_rows(batch)]
        torch.testing.assert_close(
            total(task, model, alone), total(task, model, together), rtol=1e-5, atol=1e-4
        )
        return
    alone = total(made.with_batch(1), model, batches(made.with_batch(1), part))
    for size in (3, 100):
        other = made.with_batch(size)
        found = total(other, model, batches(other, part))
        torch.testing.assert_close(found, alone, rtol=1e-5, atol=1e-4)


def test_alone_and_in_any_order(made) -> None:
    items = made.items()
    together = answers(made, items)
    assert_same(answers(made, items[::-1])[::-1], together)
    for i in (0, 1, 3):
        assert_same(answers(made, [items[i]]), [together[i]])


@torch.inference_mode()
def test_tapped_as_untapped(made) -> None:
    task, model, part = made
    given = batches(task, part)
    plain = total(task, model, given)
    with record(model, "*") as found:
        tapped = total(task, model, given)
    torch.testing.assert_close(tapped, plain, rtol=1e-5, atol=1e-4)
    assert any(path in found for path in taps(model))


def test_saved_and_loaded(made, tmp_path) -> None:
    task, model, part = made
    save_run(made, tmp_path)
    loaded = unspool.load(tmp_path)
    assert type(loaded.task) is type(task)
    given = batches(task, part)
    with torch.inference_mode():
        before = total(task, model, given)
        after = total(loaded.task, loaded.model, given)
    assert torch.equal(before, after)
    items = made.items()[:3]
    again = Made(loaded.task, loaded.model, part)
    assert answers(again, items) == answers(made, items)


def test_the_gradient_reaches_every_weight(made) -> None:
    task, model, part = made
    model.train()
    total(task, model, batches(task, part)).backward()
    learning = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    without = [n for n, p in learning if p.grad is None or not p.grad.any()]
    model.zero_grad(set_to_none=True)
    model.eval()
    assert without == []


def test_the_summary_adds_up(made) -> None:
    summary = summary_of(made.task, made.model)
    assert sum(layer.parameters for layer in summary.layers) == summary.parameters
    assert summary.parameters == sum(p.numel() for p in made.model.parameters())


def test_looking_answers(made) -> None:
    task, model, _ = made
    item = made.items()[2]
    if fits_directly(task):
        with pytest.raises(ConfigError, match="no steps to look at"):
            task.reading(model, item)
        return
    reading = task.reading(model, item)
    with torch.inference_mode():
        scores = reading.run(2)  # (copies, P, C)
    assert scores.shape[:2] == (2, len(reading.answer.steps))
    torch.testing.assert_close(scores[0], scores[1], rtol=1e-5, atol=1e-5)
    assert all(
        isinstance(reading.answer.name(answer), str) for answer in reading.answer.chosen(scores[0])
    )
    found = trace(task, model, item)
    assert found.tokens == list(reading.input.network_tokens)
    if task.answer is None:
        with pytest.raises(ConfigError, match="no answers to ask for reasons"):
            explain(reading)
    else:
        assert len(explain(reading).tokens) == len(reading.input.tokens)


def test_two_threads_one_of_them_tapped(made) -> None:
    """Each to the bit as it is alone."""
    task, model, part = made
    given = batches(task, part)[:2]

    @torch.inference_mode()
    def plain() -> list[float]:
        torch.set_num_threads(1)
        return [float(total(task, model, given)) for _ in range(3)]

    @torch.inference_mode()
    def tapped() -> list[float]:
        torch.set_num_threads(1)
        with record(model, "*"):
            return [float(total(task, model, given)) for _ in range(3)]

    alone = [plain(), tapped()]
    with ThreadPoolExecutor(2) as pool:
        together = [job.result() for job in [pool.submit(plain), pool.submit(tapped)]]
    assert together == alone


@pytest.mark.parametrize("case", USUAL_SERIES, ids=str)
def test_a_file_of_series_as_memory(case, folder, tmp_path) -> None:
    """Recordings of a file, with or without labels, are answered as the same arrays in memory."""
    made = make(case, folder)
    items = [item.values for item in made.items()]
    wanted = answers(made, items)
    for target in ("label", "tags"):
        write_series(tmp_path / f"{target}.csv", target)
        plan = open_inputs(tmp_path / f"{target}.csv", made.task.config.data, case.task)
        read = [row.values[0] for row in plan.rows()]
        assert [item.name for item in read] == [item.name for item in made.items()]
        for found, given in zip(read, items):
            np.testing.assert_allclose(found.values, given, atol=1e-6)
        for found, other in zip(answers(made, read), wanted):
            for key in set(found) - {"text", "series", "steps"}:
                assert_same(found[key], other[key])


@pytest.mark.parametrize("case", USUAL_STROKES, ids=str)
def test_a_file_of_strokes_as_memory(case, folder, tmp_path) -> None:
    made = make(case, folder)
    path = tmp_path / "some.jsonl"
    write_strokes(path, "text" if case.task == "handwrite" else "")
    plan = open_inputs(path, made.task.config.data, case.task)
    read = [row.values[0] for row in plan.rows()]
    for found, given in zip(read, made.items()):
        np.testing.assert_allclose(found.values, given.values, atol=1e-3)
    assert_same(answers(made, read), answers(made, made.items()), 1e-2)


@pytest.mark.parametrize(
    "case", [case for case in USUAL if case.task not in (*NEEDED, "handwrite", "compose")], ids=str
)
@pytest.mark.parametrize("ending", ["txt", "csv", "jsonl"])
def test_a_file_as_memory(case, ending, folder, tmp_path) -> None:
    """Texts of a file are answered as the same texts in memory."""
    made = make(case, folder)
    path = tmp_path / f"items.{ending}"
    items = made.items()
    lines = {
        "txt": items,
        "csv": ["text", *(f'"{item}"' for item in items)],
        "jsonl": [f'{{"text": "{item}"}}' for item in items],
    }[ending]
    path.write_text("".join(f"{line}\n" for line in lines))
    data = made.task.config.data.model_copy(update={"format": "auto"})
    plan = open_inputs(path, data, case.task)
    read = [row.values[0] for row in plan.rows()]
    assert read == items
    assert answers(made, read) == answers(made, items)
