"""Bodies of requests: read within bounds, and uploads as the JSON that a model takes."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from unspool.serve.problems import Problem

UPLOADS = ("audio/", "image/", "video/", "application/octet-stream")
LINE = 4_000_000  # bytes of a line of a stream


async def body_of(request: Request, most: int) -> bytes:
    """The whole body; a Problem where it is too large, or encoded."""
    check_encoding(request.headers)
    size = request.headers.get("content-length", "")
    if size.isascii() and size.isdecimal() and int(size[:20]) > most:
        raise Problem(413, f"a request has at most {most:,} bytes")
    parts, total = [], 0
    async for part in request.stream():
        total += len(part)
        if total > most:
            raise Problem(413, f"a request has at most {most:,} bytes")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def check_encoding(headers: Mapping[str, str]) -> None:
    if headers.get("content-encoding", "identity") != "identity":
        raise Problem(415, "a request is not compressed: leave out Content-Encoding")


def media_of(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def json_body(request: Request, most: int) -> bytes:
    """A body that says that it is JSON: what other sites send from a browser cannot."""
    media = media_of(request)
    if media != "application/json":
        raise Problem(415, f"send application/json; got {media[:60] or 'no Content-Type'}")
    return await body_of(request, most)


async def items_body(request: Request, most: int, item: Mapping[str, Any]) -> bytes:
    """A request of predict: JSON, or files, of which each becomes an item."""
    media = media_of(request)
    if media == "multipart/form-data":
        return await multipart_body(request, most, item)
    if not media.startswith(UPLOADS):
        return await json_body(request, most)
    name = request.headers.get("x-file-name", "upload")
    return uploaded([(name, await body_of(request, most))], item, None)


async def multipart_body(request: Request, most: int, item: Mapping[str, Any]) -> bytes:
    """The files of a form, and `options` as JSON."""
    check_encoding(request.headers)
    total = 0

    async def bounded() -> AsyncGenerator[bytes, None]:
        nonlocal total
        async for part in request.stream():
            total += len(part)
            if total > most:
                raise Problem(413, f"a request has at most {most:,} bytes")
            yield part

    try:
        parser = MultiPartParser(request.headers, bounded(), max_files=256, max_fields=8)
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError, UnicodeError):
        raise Problem(400, "a form that cannot be read") from None
    files, options = [], None
    try:
        for name, value in form.multi_items():
            if not isinstance(value, str):
                files.append((value.filename or "upload", await value.read()))
            elif name == "options":
                options = value
            else:
                raise Problem(422, f"a form has files and options; got {name[:60]!r}")
    finally:
        await form.close()
    return uploaded(files, item, options)


def uploaded(files: list[tuple[str, bytes]], item: Mapping[str, Any], options: str | None) -> bytes:
    """Files as the JSON of a request."""
    key = file_key(item)
    if key is None:
        raise Problem(415, "this model reads no files: send application/json")
    items = [{"name": name[:200], key: base64.b64encode(data).decode()} for name, data in files]
    request: dict[str, Any] = {"items": items}
    if options is not None:
        try:
            request["options"] = json.loads(options)
        except (ValueError, RecursionError):
            raise Problem(400, "options are not JSON") from None
    return json.dumps(request).encode()


def file_key(item: Mapping[str, Any]) -> str | None:
    """The name under which an item has the bytes of a file; None where it has none."""
    for schema in item.get("anyOf", [item]):
        for name, each in schema.get("properties", {}).items():
            if each.get("contentEncoding") == "base64":
                return str(name)
    return None


async def lines_of(request: Request) -> AsyncIterator[bytes]:
    """The lines of a body, as they come."""
    check_encoding(request.headers)
    rest = b""
    async for part in request.stream():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(rest) > LINE:
            raise Problem(413, f"a line has at most {LINE:,} bytes")
    if rest.strip():
        yield rest
