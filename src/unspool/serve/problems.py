"""Errors as problem+json (RFC 9457), in the words of the messages of unspool."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

MEDIA = "application/problem+json"
LONGEST = 600  # characters of a message


class Problem(Exception):
    """A request that is refused.

    retry   seconds after which it may be repeated
    """

    def __init__(self, status: int, detail: str, *, retry: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.retry = status, detail, retry

    def content(self) -> bytes:
        return problem_content(self.status, self.detail)


def problem_content(status: int, detail: str) -> bytes:
    line = " ".join(detail.split())
    line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    # `error` is for clients of OpenAI's API and of the Open Inference Protocol.
    content = {"title": title(status), "status": status, "detail": line, "error": {"message": line}}
    return json.dumps(content).encode()


def title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "error": {"type": "object"},
    },
    "required": ["title", "status", "detail"],
}
