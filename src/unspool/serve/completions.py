"""OpenAI's completions for language models: a request in, its reply or server-sent events out."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, time
from typing import Any

from pydantic import Field

from unspool.serve.generation import Generator, GrowingRow, TextPiece, prompts_of
from unspool.serve.problems import Problem
from unspool.serve.schemas import Strict
from unspool.serve.settings import ServeLimits
from unspool.serve.work import dumped
from unspool.tasks.generate import Generation
from unspool.text.growing import GrowingText

INTERVAL = 0.01  # seconds between the events of a text
Send = Callable[[bytes, bool], None]  # content, whether it is the last


class Completion(Strict):
    """Request of OpenAI's completions; `top_k` is an addition."""

    prompt: str | list[str] = ""
    model: str | None = None
    max_tokens: int | None = Field(16, ge=0)
    temperature: float | None = 1.0
    top_p: float | None = 1.0
    top_k: int = Field(0, ge=0)
    n: int | None = Field(1, ge=1)
    stream: bool | None = False
    logprobs: int | None = Field(None, ge=0, le=5)
    echo: bool | None = False
    stop: str | list[str] | None = None
    seed: int | None = Field(None, ge=0, lt=2**63)
    user: str | None = None


class Completing:
    """One request with its texts."""

    def __init__(
        self,
        id: int,
        name: str,
        request: Completion,
        tokenizer: Any,
        limits: ServeLimits,
        send: Send,
    ) -> None:
        self.name, self.request, self.send = name, request, send
        self.about = {
            "id": f"cmpl-{time():.0f}-{id}",
            "object": "text_completion",
            "created": int(time()),
            "model": name,
        }
        prompts = list(prompts_of(request.prompt))
        self.check(prompts, limits)
        self.rows = [
            self.row(index, prompt, tokenizer)
            for index, prompt in enumerate(p for p in prompts for _ in range(request.n or 1))
        ]
        self.prompt_tokens = sum(len(row.ids) for row in self.rows[:: request.n or 1])
        self.choices: list[dict[str, Any]] = [self.choice(i) for i in range(len(self.rows))]
        self.left = len(self.rows)
        self.sent = [-INTERVAL] * len(self.rows)
        for index, row in enumerate(self.rows):
            prompt = prompts[index // (request.n or 1)]
            if request.echo:
                self.add(index, TextPiece(prompt, [], [], [], None))
            if row.length == 0:
                self.add(index, TextPiece("", [], [], [], "length"))

    def check(self, prompts: list[str], limits: ServeLimits) -> None:
        request = self.request
        texts = len(prompts) * (request.n or 1)
        if not 0 < texts <= limits.width:
            raise Problem(422, f"a request has 1 to {limits.width:,} texts; this has {texts:,}")
        if (request.max_tokens or 0) > limits.generated:
            raise Problem(422, f"max_tokens is at most {limits.generated:,}")
        if sum(map(len, prompts)) > limits.tokens:
            raise Problem(413, f"prompts have at most {limits.tokens:,} characters together")
        if len(self.stops) > 16 or not all(0 < len(stop) <= 100 for stop in self.stops):
            raise Problem(422, "stop has at most 16 texts of 1 to 100 characters")

    @property
    def stops(self) -> tuple[str, ...]:
        stop = self.request.stop
        return () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)

    def row(self, index: int, prompt: str, tokenizer: Any) -> GrowingRow:
        request = self.request
        options = Generation(
            length=16 if request.max_tokens is None else request.max_tokens,
            temperature=1.0 if request.temperature is None else request.temperature,
            top_p=1.0 if request.top_p is None else request.top_p,
            top_k=request.top_k,
            seed=((1 if request.seed is None else request.seed) + index) % 2**63,
        )
        ids = [int(i) for i in tokenizer.encode(prompt or "\n")]
        return GrowingRow(
            ids or [int(i) for i in tokenizer.encode("\n")],
            options.sampling(forbidden=tuple(tokenizer.special_ids())),
            options.length,
            self.stops,
            request.logprobs,
            lambda piece: self.add(index, piece),
            GrowingText(tokenizer, ids if prompt else ()),
        )

    def start(self, generator: Generator) -> None:
        for row in self.rows:
            if row.length:
                generator.add(row)

    def cancel(self) -> None:
        for row in self.rows:
            row.cancelled = True

    def choice(self, index: int, text: str = "") -> dict[str, Any]:
        return {"index": index, "text": text, "logprobs": None, "finish_reason": None}

    def add(self, index: int, piece: TextPiece) -> None:
        """Send a piece with those before it, at most every INTERVAL seconds; or keep it until all
        texts have ended."""
        self.left -= piece.reason is not None
        last = self.left == 0
        choice = self.choices[index]
        choice["text"] += piece.text
        self.extend(choice, piece)
        if self.request.stream:
            now = monotonic()
            if piece.reason is None and now - self.sent[index] < INTERVAL:
                return
            self.sent[index], self.choices[index] = now, self.choice(index)
            event = b"data: " + dumped({**self.about, "choices": [choice]}) + b"\n\n"
            self.send(event + b"data: [DONE]\n\n" * last, last)
        elif last:
            written = sum(row.written for row in self.rows)
            usage = {
                "prompt_tokens": self.prompt_tokens,
                "completion_tokens": written,
                "total_tokens": self.prompt_tokens + written,
            }
            self.send(dumped({**self.about, "choices": self.choices, "usage": usage}), True)

    def extend(self, choice: dict[str, Any], piece: TextPiece) -> None:
        choice["finish_reason"] = piece.reason
        if self.request.logprobs is None:
            return
        kept = choice["logprobs"] or {"tokens": [], "token_logprobs": [], "top_logprobs": []}
        choice["logprobs"] = {
            "tokens": kept["tokens"] + piece.tokens,
            "token_logprobs": kept["token_logprobs"] + piece.nats,
            "top_logprobs": kept["top_logprobs"] + piece.top,
            "text_offset": None,
        }
