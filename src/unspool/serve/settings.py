"""Settings of the server: where it listens, who may ask, and the limits of what is asked."""

from __future__ import annotations

import math
import os
import re
import stat
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from unspool.errors import ConfigError, Option, choose
from unspool.training.pack import SUFFIX

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
TOKEN = "UNSPOOL_TOKEN"  # the environment variable of the bearer token
PRECISIONS = ("fp32", "bf16", "int8")
SHORTEST = 16  # characters of a token


@dataclass(frozen=True, kw_only=True)
class ServeLimits:
    """Bounds of requests and of the work that waits.

    body         bytes of a request
    items        inputs of a request
    tokens       tokens, steps or characters of all inputs of a request
    generated    tokens that a request may ask for
    width        hypotheses, samples or candidates that a request may ask for
    queue        requests that wait for a model
    wait         seconds that a request may wait
    deadline     seconds until a request is answered or refused
    connections  open connections
    batch_items  inputs that are computed together
    batch_tokens tokens that are computed together
    delay        milliseconds that a batch waits for further requests while the model is idle
    sessions     streams that are kept
    session_age  seconds that a stream is kept without a new chunk
    drain        seconds that requests have to finish when the server ends
    """

    body: int = 8_000_000
    items: int = 256
    tokens: int = 200_000
    generated: int = 4096
    width: int = 64
    queue: int = 256
    wait: float = 10.0
    deadline: float = 30.0
    connections: int = 1024
    batch_items: int = 64
    batch_tokens: int = 8_192
    delay: float = 0.0
    sessions: int = 256
    session_age: float = 300.0
    drain: float = 30.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value, least = getattr(self, each.name), 0 if each.name == "delay" else 1
            if not least <= value < 2**40:
                raise ConfigError(f"the limit {each.name} must be {least} or more", got=value)
        if self.delay > 1000:
            raise ConfigError("delay must be at most 1000 milliseconds", got=self.delay)


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """All of `unspool serve`.

    models      (name, folder) of each
    processes   of each model
    threads     of each process of a model; 0: the cores, divided among all of them
    precision   of predictions: fp32, bf16 or int8
    validation  file by which the loss of accuracy of another precision is measured
    max_loss    the most that the metric of a model may lose
    plugins     modules that each process of a model imports first
    token       of who may ask; None: anybody who can connect
    texts       whether logs have what was asked
    look        whether the page of `unspool look` is served, too
    """

    models: tuple[tuple[str, str], ...]
    host: str = "127.0.0.1"
    port: int = 8000
    uds: str | None = None
    admin_port: int | None = None
    processes: int = 1
    threads: int = 0
    device: str = "cpu"
    precision: str = "fp32"
    validation: str | None = None
    max_loss: float = 0.005
    plugins: tuple[str, ...] = ()
    token: str | None = None
    certificate: str | None = None
    key: str | None = None
    insecure: bool = False
    texts: bool = False
    look: bool = False
    limits: ServeLimits = field(default_factory=ServeLimits)

    def __post_init__(self) -> None:
        if self.key is not None and self.certificate is None:
            raise ConfigError(
                "a key without its certificate", remedy=("add ", Option("certificate"))
            )
        choose("precision", self.precision, PRECISIONS)
        if (self.precision == "fp32") != (self.validation is None):
            raise ConfigError(
                "another precision and the file by which its accuracy is measured belong together",
                remedy=("give both ", Option("precision"), " and ", Option("validation")),
            )
        if not 0 <= self.max_loss < math.inf:
            raise ConfigError("max_loss must be 0 or more", got=self.max_loss)
        if self.look and self.token is not None:
            raise ConfigError(
                "the page of look asks without a token",
                remedy=("leave out ", Option("look"), ", and use `unspool look`"),
            )
        if not self.loopback and self.token is None and not self.insecure:
            raise ConfigError(
                "anybody who reaches this address could use the models",
                got=self.host,
                remedy=(
                    f"set the environment variable {TOKEN}, give ",
                    Option(token_file="FILE"),
                    ", or force it with ",
                    Option(insecure=True),
                ),
            )

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        if self.uds is not None or self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def threads_each(self) -> int:
        """Threads of each process of a model, the OpenMP team."""
        if self.threads:
            return self.threads
        limit = os.environ.get("OMP_NUM_THREADS", "")
        if limit.isascii() and limit.isdecimal() and int(limit) > 0:
            return int(limit)
        return max(1, len(os.sched_getaffinity(0)) // (self.processes * len(self.models)))


def named_models(runs: list[str]) -> tuple[tuple[str, str], ...]:
    """The name and folder of each run, as `folder` or `name=folder`."""
    named: dict[str, str] = {}
    for run in runs:
        name, equals, folder = run.partition("=")
        if not equals or not folder:
            name, folder = Path(run).resolve().name.removesuffix(SUFFIX), run
        if NAME.fullmatch(name) is None:
            raise ConfigError(
                "a name of a model has letters, digits and . _ - alone",
                got=name,
                remedy="write NAME=RUN",
            )
        if name in named:
            raise ConfigError("two models have the same name", got=name, remedy="write NAME=RUN")
        named[name] = folder
    return tuple(named.items())


def read_token(file: Path | None) -> str | None:
    """The bearer token of a file or of the environment; None where there is neither."""
    where: Any = f"the environment variable {TOKEN}"
    token = os.environ.get(TOKEN)
    if file is not None:
        where = file
        try:
            token = file.read_text(encoding="ascii").strip()
            readable = bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                "cannot read the token", where=file, got=type(error).__name__
            ) from None
        if readable:
            raise ConfigError("others can read the token", where=file, remedy=f"chmod 600 {file}")
    if token is None:
        return None
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"a token has at least {SHORTEST} printable ASCII characters, without spaces",
            where=where,
            remedy="make one with `openssl rand -hex 32`",
        )
    return token


def parse_limits(pairs: list[str]) -> ServeLimits:
    """ServeLimits as NAME=N."""
    names = {each.name: each for each in fields(ServeLimits)}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        choose("limit", name, names)
        kind = float if names[name].type == "float" else int
        try:
            values[name] = kind(text)
        except ValueError:
            raise ConfigError(f"the limit {name} is a number", got=text or pair) from None
    return ServeLimits(**values)
