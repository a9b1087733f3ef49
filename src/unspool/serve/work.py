"""Work of a model: what a request asks for, ready to be computed alone or in a batch with others.

In: a loaded model and the body of a request. Out: `Work`, whose answers become the content of a
reply.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field, ValidationError
from pydantic_core import to_json
from torch import nn

from unspool.data.read.recording import Recording
from unspool.errors import DataError
from unspool.page.answers import ANSWERS, DEFAULTS, answer, encoded
from unspool.page.subject import Subject, subject_of
from unspool.serve.precision import reduced, with_precision_option
from unspool.serve.problems import Problem
from unspool.serve.products import packed_products
from unspool.serve.schemas import Strict, json_types, predict_model, task_item_schema
from unspool.serve.settings import ServeLimits
from unspool.serve.vectors import input_vectors
from unspool.tasks import Task
from unspool.tasks.document import looked_into
from unspool.training.folder import RunFolder

CHARACTERS = 4  # of a word, in the estimate of the size of a text
Finish = Callable[[list[Any]], bytes]


@dataclass
class Work:
    """One request.

    key     of those that may be computed together; None: alone
    compute items in, an answer each out
    finish  the content of the reply, of the answers
    size    estimated tokens or steps
    """

    id: int
    key: Any
    items: list[Any]
    compute: Callable[[list[Any]], list[Any]]
    finish: Finish
    size: int = 1
    arrived: float = field(default_factory=monotonic)


class Explain(Strict):
    """input: as of predict; view: name of an answer of the page; parameters: of that answer"""

    input: Any = None
    view: str = "saliency"
    parameters: dict[str, str | int | float] = Field(default_factory=dict)


class Embed(Strict):
    """Request of OpenAI's embeddings."""

    input: Any
    model: str | None = None
    encoding_format: str = "float"
    user: str | None = None


class Tensor(Strict):
    """Tensor of the Open Inference Protocol."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] | None = None


class Infer(Strict):
    """Request of the Open Inference Protocol."""

    inputs: list[Tensor]
    id: str | None = None
    outputs: list[dict[str, Any]] | None = None
    parameters: dict[str, Any] | None = None


class OutputColumn(NamedTuple):
    """Values of one name in all answers."""

    name: str
    datatype: str
    data: list[Any]


class ServedModel:
    """A loaded model: requests in, work out."""

    def __init__(
        self,
        name: str,
        folder: RunFolder,
        task: Task,
        model: nn.Module,
        limits: ServeLimits,
        precision: str = "fp32",
        device: str = "cpu",
    ) -> None:
        self.name, self.folder, self.task, self.model = name, folder, task, model
        self.limits, self.precision, self.device = limits, precision, device
        self.products = packed_products(task, model, device)
        self.predict_request = predict_model(task, limits)
        self.accepted = json_types(task_item_schema(task))

    @cached_property
    def subject(self) -> Subject:
        """Subject of the page of this run."""
        return subject_of(self.folder, *looked_into(self.task, self.model))

    def predict(self, id: int, body: bytes) -> Work:
        request: Any = parsed(self.predict_request, body)
        options = self.options(getattr(request, "options", None))
        return self.predicting(id, self.raw_items(request.items), options, self.predicted)

    def predicting(self, id: int, items: list[Any], options: Any, finish: Finish) -> Work:
        """Work of predictions; those with random choices depend on their neighbours, so each is
        computed alone."""
        size = sum(map(self.size_of, items))
        if size > self.limits.tokens:
            raise Problem(
                413, f"a request has at most {self.limits.tokens:,} tokens; this has {size:,}"
            )
        task, model = self.task, self.model

        def together(items: list[Any]) -> list[Any]:
            with self.computing():
                return list(task.predict(model, items, options))

        def each_alone(items: list[Any]) -> list[Any]:
            with self.computing():
                return [made for item in items for made in task.predict(model, [item], options)]

        if is_random(options):
            return Work(id, None, items, each_alone, finish, size)
        return Work(id, ("predict", options), items, together, finish, size)

    def options(self, requested: Any) -> Any:
        """Options of the task; the defaults where none are given."""
        kind = self.task.options
        if kind is None:
            return None
        chosen = {} if requested is None else requested.model_dump(exclude_unset=True)
        return with_precision_option(kind(**chosen), self.precision)

    def computing(self) -> AbstractContextManager[Any]:
        """Compute predictions and vectors in their precision, with packed weights where it pays."""
        if self.precision == "fp32" and self.products is not None:
            return self.products
        return reduced(self.precision, self.device)

    def raw_items(self, values: Sequence[Any]) -> list[Any]:
        return [self.raw_item(value, f"item {n}") for n, value in enumerate(values, 1)]

    def raw_item(self, value: Any, where: str) -> Any:
        """A raw value of the field that is read, from JSON."""
        task, field = self.task, self.task.input_field
        form = field.form
        texts = task.reads_tokens and not form.sides
        if not isinstance(value, self.accepted) or (
            texts and isinstance(value, list) and not is_words(value)
        ):
            expected = "a text" if task.reads_tokens else f"what the model reads, {task.input}"
            raise DataError(f"not {expected}", where=where, got=value)
        raw = form.from_json(value, where)
        if isinstance(raw, Recording):
            field.refuse(raw, where)
        return raw

    def size_of(self, item: Any) -> int:
        """Estimated tokens or steps of an input."""
        if isinstance(item, str):
            per_word = getattr(self.task.tokenizer, "kind", "word") != "char"
            return 1 + (len(item) // CHARACTERS if per_word else len(item))
        if isinstance(item, tuple | list):
            return sum(map(self.size_of, item))
        try:
            return 1 + len(item)
        except TypeError:
            return 100

    def predicted(self, answers: list[Any]) -> bytes:
        return dumped({"model": self.name, "answers": list(map(answer_json, answers))})

    def explain(self, id: int, body: bytes) -> Work:
        request = parsed(Explain, body)
        if request.view not in ANSWERS or request.view in ("run", "training"):
            raise Problem(422, f"there is no view {request.view!r} of an input")
        parameters = {name: str(value) for name, value in request.parameters.items()}
        if request.input is not None and "text" in DEFAULTS[request.view]:
            parameters["text"] = self.as_text(request.input)

        def compute(items: list[Any]) -> list[Any]:
            return [answer(self.subject, request.view, parameters)]

        return Work(id, None, [None], compute, lambda made: encoded(made[0]))

    def as_text(self, value: Any) -> str:
        """An input as the page has it."""
        raw = self.raw_item(value, "input")
        size = self.size_of(raw)
        if size > self.limits.tokens:
            raise Problem(413, f"an input has at most {self.limits.tokens:,} tokens")
        if self.task.reads_tokens:
            shown = self.task.input_field.form.shown(raw) if not isinstance(raw, str) else raw
            return " ".join(raw) if isinstance(raw, list) else shown
        return json.dumps(value)

    def look(self, id: int, name: str, body: bytes) -> Work:
        """An answer of the page, with the parameters in the body."""
        parameters = json.loads(body)

        def compute(items: list[Any]) -> list[Any]:
            return [answer(self.subject, name, parameters)]

        return Work(id, None, [None], compute, lambda made: encoded(made[0]))

    def embed(self, id: int, body: bytes) -> Work:
        request = parsed(Embed, body)
        if request.encoding_format not in ("float", "base64"):
            raise Problem(422, "encoding_format is float or base64")
        values = request.input if isinstance(request.input, list) else [request.input]
        if not 0 < len(values) <= self.limits.items:
            raise Problem(422, f"give 1 to {self.limits.items:,} inputs; got {len(values):,}")
        items = self.raw_items(values)
        size = sum(map(self.size_of, items))
        if size > self.limits.tokens:
            raise Problem(413, f"a request has at most {self.limits.tokens:,} tokens")

        def compute(items: list[Any]) -> list[Any]:
            with self.computing():
                return list(input_vectors(self.task, self.model, items, self.folder.path))

        def finish(vectors: list[Any]) -> bytes:
            shown = [numbers_of(vector, request.encoding_format) for vector in vectors]
            data = [
                {"object": "embedding", "index": index, "embedding": vector}
                for index, vector in enumerate(shown)
            ]
            usage = {"prompt_tokens": size, "total_tokens": size}
            return dumped({"object": "list", "data": data, "model": self.name, "usage": usage})

        return Work(id, "embed", items, compute, finish, size)

    def infer(self, id: int, body: bytes) -> Work:
        """Predictions by the Open Inference Protocol."""
        request = parsed(Infer, body)
        if len(request.inputs) != 1:
            raise Problem(422, f"the model reads one tensor; got {len(request.inputs)}")
        values = inputs_of(request.inputs[0], self.task.reads_tokens)
        parameters = {
            name: value
            for name, value in (request.parameters or {}).items()
            if not name.startswith("binary_data")
        }
        checked: Any = validated(self.predict_request, {"items": values, **wrapped(parameters)})
        options = self.options(getattr(checked, "options", None))
        wanted = [str(output.get("name")) for output in request.outputs or ()]

        def finish(answers: list[Any]) -> bytes:
            columns = columns_of(list(map(answer_json, answers)))
            outputs = [
                {"name": c.name, "shape": [len(answers)], "datatype": c.datatype, "data": c.data}
                for c in columns
                if not wanted or c.name in wanted
            ]
            shown = {} if request.id is None else {"id": request.id}
            return dumped({"model_name": self.name, **shown, "outputs": outputs})

        return self.predicting(id, self.raw_items(checked.items), options, finish)


def parsed(kind: type[Any], body: bytes) -> Any:
    """A request of JSON; a Problem with the first thing that is wrong."""
    try:
        return kind.model_validate_json(body or b"null")
    except ValidationError as error:
        raise invalid(error) from None


def validated(kind: type[Any], value: Any) -> Any:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise invalid(error) from None


def invalid(error: ValidationError) -> Problem:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"])) or "the request"
    malformed = first["type"] == "json_invalid"
    return Problem(400 if malformed else 422, f"{where}: {first['msg']}")


def wrapped(options: dict[str, Any]) -> dict[str, Any]:
    return {"options": options} if options else {}


def is_random(options: Any) -> bool:
    """Whether answers are sampled."""
    return hasattr(options, "seed") and bool(getattr(options, "sampling", True))


def is_words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(w, str) for w in value)


def answer_json(answer: Any) -> dict[str, Any]:
    shown = answer.to_json()
    return shown if answer.note is None else {**shown, "note": answer.note}


def dumped(value: Any) -> bytes:
    """JSON in which numbers that are not finite are null."""
    return to_json(value, inf_nan_mode="null")


def numbers_of(vector: np.ndarray, encoding: str) -> Any:
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return vector.astype(float).tolist()


def inputs_of(tensor: Tensor, tokens: bool) -> list[Any]:
    """The inputs of a tensor: BYTES (N) of texts or of JSON, or numbers (N, T, C)."""
    flat = flattened(tensor.data)
    if any(side < 0 for side in tensor.shape) or len(flat) != int(
        np.prod(tensor.shape, dtype=object)
    ):
        raise Problem(
            422, f"{tensor.name}: {len(flat):,} values are not of the shape {tensor.shape}"
        )
    if tensor.datatype == "BYTES":
        if not all(isinstance(value, str) for value in flat):
            raise Problem(422, f"{tensor.name}: BYTES are strings in JSON")
        return flat if tokens else [json_of(text, tensor.name) for text in flat]
    if tokens or len(tensor.shape) != 3 or 0 in tensor.shape:
        shape = "BYTES of shape [N]" if tokens else "BYTES of shape [N], or numbers [N, T, C]"
        raise Problem(422, f"{tensor.name}: the model reads {shape}")
    try:
        values: list[Any] = np.array(flat, dtype=np.float64).reshape(tensor.shape).tolist()
    except (TypeError, ValueError, OverflowError):
        raise Problem(422, f"{tensor.name}: not all values are numbers") from None
    return values


def flattened(data: list[Any]) -> list[Any]:
    while any(isinstance(value, list) for value in data):
        data = [v for value in data for v in (value if isinstance(value, list) else [value])]
    return data


def json_of(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Problem(422, f"{where}: an element is not JSON") from None


def columns_of(answers: list[dict[str, Any]]) -> list[OutputColumn]:
    """Answers as tensors: whole as JSON, and the texts and numbers that all of them have."""
    columns = [OutputColumn("answer", "BYTES", [dumped(answer).decode() for answer in answers])]
    for name in answers[0] if answers else ():
        values = [answer.get(name) for answer in answers]
        if all(isinstance(value, str) for value in values):
            columns.append(OutputColumn(name, "BYTES", values))
        elif all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            columns.append(OutputColumn(name, "FP64", [float(value or 0) for value in values]))
    return columns
