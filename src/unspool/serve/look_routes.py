"""The page of `unspool look` for each model of a server, under /look/NAME/."""

from __future__ import annotations

import json
from typing import Any

from starlette.routing import Mount

from unspool.serve import frames
from unspool.serve.page import PageApp, Parameters
from unspool.serve.problems import Problem
from unspool.serve.process import Models

READ = {"run", "training", "positions", "write"}  # answers that read no long text


def look_mount(models: Models) -> Mount:
    """The pages of all models; their answers are computed by the processes of these."""

    async def answer(scope: Any, name: str, parameters: Parameters) -> bytes:
        model = models.get_ready(scope["path_params"]["model"])
        body = json.dumps(dict(parameters)).encode()
        job = model.submit(frames.LOOK, body, argument=name)
        scope["state"]["connection"].on_lost = job.leave
        reply = await job.done
        if reply.status != 200:
            raise Problem(reply.status, json.loads(reply.content or b"{}").get("detail", ""))
        return reply.content

    return Mount("/look/{model}", PageApp(answer, texts=lambda name: name not in READ))
