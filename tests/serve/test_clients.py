"""Clients of others: OpenAI's, Triton's, and requests made from the OpenAPI document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unspool.api.run import load


@pytest.fixture(scope="module")
def client(served):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{served.port}/v1", api_key="none", max_retries=0
    ) as made:
        yield made


def test_openai_lists_models(client) -> None:
    names = [model.id for model in client.models.list()]
    assert names == ["classifier", "writer", "translator", "tagger"]
    assert client.models.retrieve("writer").id == "writer"


def test_openai_completes(client, writer) -> None:
    reply = client.completions.create(
        model="writer", prompt="the film", max_tokens=20, temperature=0.8, seed=3, logprobs=1
    )
    expected = load(writer).generate("the film", length=20, temperature=0.8, seed=3)
    assert "the film" + reply.choices[0].text == expected
    assert reply.usage.completion_tokens == 20
    assert len(reply.choices[0].logprobs.token_logprobs) == 20


def test_openai_streams(client) -> None:
    asked = {"model": "writer", "prompt": "a", "max_tokens": 30, "seed": 5}
    whole = client.completions.create(**asked).choices[0].text
    parts = list(client.completions.create(**asked, stream=True))
    assert "".join(part.choices[0].text for part in parts) == whole
    assert parts[-1].choices[0].finish_reason == "length"
    assert len(parts) > 1


def test_openai_embeds(client) -> None:
    reply = client.embeddings.create(model="classifier", input=["a film", "dull"])
    floats = client.embeddings.create(model="classifier", input="dull", encoding_format="float")
    assert np.allclose(reply.data[1].embedding, floats.data[0].embedding, atol=1e-5)


def test_openai_reads_our_errors(client) -> None:
    import openai

    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt'"):
        client.completions.create(model="gpt", prompt="a")
    with pytest.raises(openai.UnprocessableEntityError, match="max_tokens is at most"):
        client.completions.create(model="writer", prompt="a", max_tokens=10**7)


def test_triton(served) -> None:
    # In a process of its own: the client patches sockets for greenlets.
    pytest.importorskip("tritonclient.http")
    program = f"""
import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException
with http.InferenceServerClient("127.0.0.1:{served.port}") as client:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("classifier")
    name = client.get_model_metadata("classifier")["inputs"][0]["name"]
    texts = http.InferInput(name, [2], "BYTES")
    texts.set_data_from_numpy(np.array(["a lovely film", "dull"], dtype=object), binary_data=False)
    outputs = [http.InferRequestedOutput("label", binary_data=False)]
    result = client.infer("classifier", [texts], outputs=outputs)
    print(*result.as_numpy("label"))
    try:
        client.get_model_metadata("nobody")
    except InferenceServerException as error:
        print(error.status())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    answers = served.ask("/v1/models/classifier/predict", {"items": ["a lovely film", "dull"]}).json
    labels, status = result.stdout.splitlines()
    assert labels.split() == [answer["label"] for answer in answers["answers"]]
    assert status == "404"


def test_requests_made_from_the_document(served, tmp_path) -> None:
    """A few hundred; `python tests/serve/schema_cases.py RUN...` makes 10,000."""
    pytest.importorskip("schemathesis")
    program = Path(__file__).with_name("schema_cases.py")
    result = subprocess.run(
        [sys.executable, program, "--port", str(served.port), "--cases", "300"],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    figures = json.loads(result.stdout.splitlines()[-1])
    assert figures["cases"] >= 250
    assert figures["failures"] == 0
