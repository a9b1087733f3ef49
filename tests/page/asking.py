"""Answers as the page gets them."""

from __future__ import annotations

import json
from typing import Any

from unspool.serve.page import PageServer


def asked(server: PageServer, name: str, **given: object) -> Any:
    """An answer of a server, in the one thread that computes: a model is looked at by one."""
    return json.loads(server.answer(name, {key: str(value) for key, value in given.items()}))
