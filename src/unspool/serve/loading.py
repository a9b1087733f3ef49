"""Loading of a model for its process: weights, warm-up, self-check, and its description."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

import torch

from unspool import __version__
from unspool.errors import ConfigError
from unspool.page.answers import explains
from unspool.serve.engine import EngineSettings
from unspool.serve.generation import Generator
from unspool.serve.precision import measure_precision
from unspool.serve.schemas import schema_of, task_item_schema
from unspool.serve.streams import Sessions
from unspool.serve.vectors import vectors_unsupported_reason
from unspool.serve.work import ServedModel, answer_json
from unspool.tasks.abilities import GeneratesText
from unspool.tasks.examples import read_examples
from unspool.tasks.stored_answers import check_answers
from unspool.training.folder import RunFolder
from unspool.training.machine import resolve_device, tune_process


@dataclass
class Loaded:
    """A model that is ready."""

    served: ServedModel
    sessions: Sessions
    generator: Generator | None
    card: dict[str, Any]

    def new_generator(self) -> Generator | None:
        task, model = self.served.task, self.served.model
        if not isinstance(task, GeneratesText):
            return None
        return Generator(model, task.tokenizer, self.served.limits.batch_items)  # type: ignore[arg-type]

    def description(self) -> bytes:
        """All that the process that speaks HTTP knows of a model."""
        return json.dumps(self.card).encode()


def load_served(settings: EngineSettings) -> Loaded:
    """Load a run, warm it up and check it; a UserError where it cannot be served."""
    began = perf_counter()
    for module in settings.plugins:
        import_module(module)
    tune_process(settings.threads)
    folder = RunFolder.open(settings.folder)
    task, model = folder.load_model()
    if task.answer is None and vectors_unsupported_reason(task, model) is not None:
        raise ConfigError("the model gives neither answers nor vectors", where=folder.path)
    device = resolve_device(settings.device)
    model.to(device)
    served = ServedModel(
        settings.name, folder, task, model, settings.limits, settings.precision, device
    )
    examples = example_inputs(served)
    answers = warm_up(served, examples)
    checked = check_answers(folder.path, task, model)
    accuracy = None if settings.validation is None else measure_precision(
        task, model, settings.precision, device, settings.validation, settings.max_loss
    )  # fmt: skip
    loaded = Loaded(served, Sessions(served), None, {})
    loaded.generator = loaded.new_generator()
    loaded.card = {
        **card_of(served, settings),
        "precision_check": accuracy,
        "self_check": checked,
        "loaded_in_seconds": round(perf_counter() - began, 3),
        "abilities": abilities_of(loaded),
        "example": examples[0] if examples else None,
        "request": served.predict_request.model_json_schema(),
        "item": task_item_schema(task),
        "answer": schema_of(answers) if answers else {"type": "object"},
    }
    return loaded


def example_inputs(served: ServedModel) -> list[Any]:
    """Real inputs of the run, as JSON; of an old one a text."""
    stored = read_examples(served.folder.path)
    if served.task.reads_tokens:
        texts = [example.text for example in stored]
        return texts or [served.task.input_field.form.sample_text]
    return [json.loads(example.text) for example in stored]


def warm_up(served: ServedModel, examples: list[Any]) -> list[dict[str, Any]]:
    """The answers to some inputs, alone and together."""
    answers: list[dict[str, Any]] = []
    if served.task.answer is None:
        return answers
    for example in examples[:3]:
        work = served.predicting(0, [served.raw_item(example, "example")], short(served), bytes)
        answers += map(answer_json, work.compute(work.items))
    return answers


def short(served: ServedModel) -> Any:
    """The default options of the task, for a short answer where they have a length."""
    kind = served.task.options
    if kind is None:
        return None
    names = getattr(kind, "__dataclass_fields__", {})
    return kind(length=8) if "length" in names else kind()


def abilities_of(loaded: Loaded) -> dict[str, str | None]:
    """Why a model lacks an ability, by name; None where it has it."""
    served = loaded.served
    task, model = served.task, served.model
    return {
        "predict": None if task.answer is not None else "it gives no answers, only vectors",
        "completions": None if loaded.generator is not None else "it is no language model of texts",
        "embeddings": vectors_unsupported_reason(task, model),
        "stream": loaded.sessions.unsupported_reason,
        "explain": None if explains(served.subject) else "it has no steps to explain",
    }


def card_of(served: ServedModel, settings: EngineSettings) -> dict[str, Any]:
    """The model card: what was trained, on what, how good it is, and how it is computed."""
    task, model, folder = served.task, served.model, served.folder
    record, report = folder.read_record(), folder.read_report()
    return {
        "name": settings.name,
        "task": task.name,
        "model": task.config.model_name,
        "input": task.input_field.kind,
        "parameters": sum(p.numel() for p in model.parameters()),
        "labels": task.labels[:1000],
        "metric": task.metric.name,
        "metrics": {} if report is None else report.metrics,
        "evaluated_on": None if report is None else report.part,
        "data": record.get("corpus", {}).get("summary"),
        "versions": {**record.get("versions", {}), "server": __version__},
        "threads": torch.get_num_threads(),
        "device": settings.device,
        "precision": settings.precision,
    }
