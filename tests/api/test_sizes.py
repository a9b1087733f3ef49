"""What is too large for any machine is refused in words, with its size, before it is allocated."""

import re
import resource
import time

import pytest
import torch

from unspool.api.settings import make_config
from unspool.config import numbers, settings
from unspool.config.numbers import machine_memory, refuse_too_large, size_in_words
from unspool.config.resolve import build
from unspool.config.schema import Config
from unspool.errors import ConfigError
from unspool.tasks import TASKS, build_model
from unspool.tasks.size import rough_bytes, weight_bytes

HUGE = [
    ("classify", "bilstm", {"hidden": 10**20}),
    ("classify", "bilstm", {"hidden": 10**6}),
    ("classify", "bilstm", {"hidden": 100_000}),
    ("classify", "bilstm", {"model.embedding": 10**12}),
    ("classify", "bilstm", {"dense": 10**15}),
    ("classify", "bilstm", {"layers": 1000, "hidden": 50_000}),
    ("classify", "cnn", {"filters": 10**12}),
    ("classify", "cnn", {"filters": 10**6, "widths": "1000,1000"}),
    ("classify", "transformer", {"hidden": 4 * 10**9}),
    ("classify", "transformer", {"feed_forward": 10**14}),
    ("classify", "transformer", {"context": 10**12, "positions": "learned", "max_length": 100}),
    ("classify", "transformer", {"attention_window": 10**12, "self_attention": "window"}),
    ("regress", "bilstm", {"hidden": 10**20}),
    ("tag", "bilstm", {"hidden": 10**20}),
    ("tag", "bilstm", {"characters": "lstm", "character_hidden": 10**12}),
    ("tag", "bilstm", {"characters": "cnn", "character_embedding": 10**15}),
    ("generate", "lstm", {"hidden": 10**20}),
    ("generate", "transformer", {"hidden": 4 * 10**8}),
    ("translate", "bahdanau", {"hidden": 10**20}),
    ("translate", "transformer", {"hidden": 4 * 10**8}),
    ("pretrain", "transformer", {"hidden": 4 * 10**8}),
    ("elmo", None, {"projection": 10**12}),
    ("elmo", None, {"hidden": 10**20}),
]


@pytest.mark.parametrize(("task", "model", "values"), HUGE, ids=str)
def test_a_model_that_is_too_large_is_refused_before_it_is_built(task, model, values) -> None:
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ConfigError) as caught:
        make_config(task, model, settings=values)
    message = str(caught.value)
    assert re.search(r"would take (\d[\d.]* [TPE]?[GB]?B|more than any machine)", message), message
    assert "this machine has" in message
    assert "\n" not in message
    assert time.process_time() - started < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


@pytest.mark.parametrize("task", list(TASKS))
def test_the_weights_are_counted_without_being_made(task: str) -> None:
    config = make_config(task, None, settings={"vocab": 300})
    made = TASKS[task].invented(config, classes=3)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    size = weight_bytes(made)
    assert torch.equal(torch.get_rng_state(), state)
    model = build_model(made)
    assert size == sum(4 * p.numel() for p in model.parameters())
    assert rough_bytes(config, 300) >= size


def test_every_number_has_bounds() -> None:
    """A number of 30 digits is refused, or bounded by the memory it takes."""
    sized = "hidden filters embedding dense character_embedding character_hidden projection heads"
    sized += " feed_forward context attention_window"
    for name, field in settings(Config):
        section, own = name.split(".")
        if field.annotation is not int or own in sized.split():
            continue
        with pytest.raises(ConfigError, match=re.escape(name)):
            build(Config, {"task": "classify", section: {own: 10**30}})
        for wrong in (float("nan"), float("inf"), -1, 1.5, "x", [1], "9" * 5000):
            with pytest.raises(ConfigError, match=re.escape(name)):
                build(Config, {"task": "classify", section: {own: wrong}})


def test_a_smaller_machine_refuses_smaller_models(monkeypatch) -> None:
    settings = {"hidden": 2000, "layers": 2}
    make_config("classify", "bilstm", settings=settings)
    monkeypatch.setattr("unspool.config.numbers.machine_memory", lambda: 10**9)
    with pytest.raises(ConfigError, match=r"would take 2\.\d GB .* this machine has 1\.0 GB"):
        make_config("classify", "bilstm", settings=settings)


def test_sizes_in_words() -> None:
    assert [size_in_words(n) for n in (0, 999, 1500, 3_500_000_000, 10**18, 10**19)] == [
        "0 bytes", "999 bytes", "1.5 kB", "3.5 GB", "1.0 EB", "more than any machine can address",
    ]  # fmt: skip
    assert 2**28 < machine_memory() < 2**50
    refuse_too_large("nothing", 0, remedy="")
    with pytest.raises(ConfigError, match=r"A book would take 1.0 EB .*\. Burn it"):
        refuse_too_large("A book", 10**18, remedy="burn it")


def test_a_container_may_have_less(monkeypatch, tmp_path) -> None:
    (tmp_path / "memory.max").write_text("1000000\n")
    monkeypatch.setattr(numbers, "Path", lambda _: tmp_path)
    assert machine_memory.__wrapped__() == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_memory.__wrapped__() > 1_000_000
