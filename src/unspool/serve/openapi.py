"""The OpenAPI document of a server, made from what its models say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool import __version__
from unspool.serve.problems import MEDIA, SCHEMA
from unspool.serve.process import ModelHandle
from unspool.serve.settings import ServeLimits

ANY: dict[str, Any] = {"type": "object"}
TEXT: dict[str, Any] = {"type": "string"}
PROBLEMS = {
    "400": "The request cannot be read",
    "401": "The token of the server is missing",
    "403": "The server does not answer to this site",
    "404": "There is no such model, or it cannot do this",
    "405": "Not with this method",
    "408": "The request did not come in time",
    "413": "The request is too large",
    "415": "The body has another type than the model takes",
    "422": "The request is not valid",
    "429": "Too many requests wait already; Retry-After says when to come again",
    "431": "The headers are too long",
    "500": "A fault of the server",
    "503": "The model is not ready, or the request has waited too long",
    "504": "The model took too long",
}
PUSH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "push": {"description": "The next steps: a text, steps of a series, or sound"},
        "finish": {"type": "boolean", "description": "Whether the sequence ends with them"},
        "options": {"type": ["object", "null"]},
    },
    "additionalProperties": False,
}
PUSHED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "session": {"type": ["string", "null"]},
        "steps": {"type": "integer"},
        "answers": {"type": "array", "items": ANY},
    },
    "required": ["session", "steps", "answers"],
}
COMPLETION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "model": {"type": "string"},
        "prompt": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "max_tokens": {"type": "integer", "minimum": 0},
        "temperature": {"type": "number", "minimum": 0},
        "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "top_k": {"type": "integer", "minimum": 0},
        "n": {"type": "integer", "minimum": 1},
        "stream": {"type": "boolean"},
        "logprobs": {"type": ["integer", "null"], "minimum": 0, "maximum": 5},
        "echo": {"type": "boolean"},
        "stop": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "seed": {"type": "integer", "minimum": 0},
    },
}
EXPLAIN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "input": {"description": "As of predict"},
        "view": {"type": "string", "description": "saliency, trace, answer, ..."},
        "parameters": {"type": "object"},
    },
    "additionalProperties": False,
}
TENSOR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}},
        "datatype": {"type": "string"},
        "data": {"type": "array"},
    },
    "required": ["name", "shape", "datatype", "data"],
}
INFER: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "inputs": {"type": "array", "items": TENSOR}},
    "required": ["inputs"],
}


def openapi_of(
    models: Mapping[str, ModelHandle], limits: ServeLimits, *, token: bool
) -> dict[str, Any]:
    """The document: each route of each model with its own schemas."""
    paths: dict[str, Any] = {
        "/healthz": get("Whether the server is alive"),
        "/readyz": get("Whether all models are ready"),
        "/metrics": {"get": operation("Figures for Prometheus", {"text/plain": {"schema": TEXT}})},
        "/v1/models": get("The cards of all models"),
    }
    for name, model in models.items():
        paths |= paths_of(name, model.card)
    able = {ability: names_of(models, ability) for ability in ("completions", "embeddings")}
    if able["completions"]:
        paths["/v1/completions"] = post("Continue texts, as OpenAI's API does", COMPLETION)
    if able["embeddings"]:
        schema = {
            "type": "object",
            "properties": {
                "model": {"type": "string", "enum": able["embeddings"]},
                "input": {},
                "encoding_format": {"type": "string", "enum": ["float", "base64"]},
            },
            "required": ["input", "model"],
        }
        paths["/v1/embeddings"] = post("Vectors of inputs, as OpenAI's API does", schema)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "unspool", "version": __version__},
        "paths": paths,
        "components": {"schemas": {"Problem": SCHEMA}},
    }
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def names_of(models: Mapping[str, ModelHandle], ability: str) -> list[str]:
    return [n for n, m in models.items() if m.card.get("abilities", {}).get(ability) is None]


def paths_of(name: str, card: Mapping[str, Any]) -> dict[str, Any]:
    """The routes of one model, those that it is able to answer."""
    able = {ability for ability, reason in card.get("abilities", {}).items() if reason is None}
    first = f"/v1/models/{name}"
    paths: dict[str, Any] = {first: get(f"The card of {name}")}
    if "predict" in able:
        answers = {
            "type": "object",
            "properties": {
                "model": {"const": name},
                "answers": {"type": "array", "items": card["answer"]},
            },
            "required": ["model", "answers"],
        }
        example = None if card.get("example") is None else {"items": [card["example"]]}
        about = f"Answers of {name} ({card['task']}, {card['model']})"
        paths[f"{first}/predict"] = post(about, card["request"], answers, example)
        paths[f"/v2/models/{name}/infer"] = post("The same by the Open Inference Protocol", INFER)
        paths[f"/v2/models/{name}"] = get("Tensors of the Open Inference Protocol")
    if "explain" in able:
        paths[f"{first}/explain"] = post("What the model does inside with an input", EXPLAIN)
    if "stream" in able:
        paths[f"{first}/sessions"] = post("Begin a stream with its first chunk", PUSH, PUSHED)
        session = {
            "name": "session",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
        }
        paths[f"{first}/sessions/{{session}}"] = {
            "parameters": [session],
            **post("Continue a stream", PUSH, PUSHED),
            "delete": operation("End a stream"),
        }
    return paths


def get(about: str) -> dict[str, Any]:
    return {"get": operation(about)}


def post(
    about: str,
    request: Mapping[str, Any],
    answer: Mapping[str, Any] = ANY,
    example: Any = None,
) -> dict[str, Any]:
    media = {"schema": request} | ({} if example is None else {"example": example})
    body = {"required": True, "content": {"application/json": media}}
    made = operation(about, {"application/json": {"schema": answer}})
    return {"post": {**made, "requestBody": body}}


def operation(about: str, content: Mapping[str, Any] | None = None) -> dict[str, Any]:
    problem = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    replies: dict[str, Any] = {
        "200": {
            "description": "Fine",
            "content": content or {"application/json": {"schema": ANY}},
        }
    }
    for status, meaning in PROBLEMS.items():
        replies[status] = {"description": meaning, "content": problem}
    return {"summary": about, "responses": replies}
