"""Every route of a server, with the answers that Python gives."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from unspool.api.run import load
from unspool.page.answers import answer as page_answer


def close(one, other, tolerance: float = 1e-5) -> bool:
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in other)
    if isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(other, float):
        return abs(one - other) <= tolerance
    return one == other


@pytest.mark.parametrize(
    ("name", "items", "options"),
    [
        ("classifier", ["a lovely film", "dull", ""], None),
        ("translator", ["red house", "green tree and dog"], {"beam": 2}),
        ("tagger", ["Anna met Bern .", ["Bert", "left", "Ulm"]], None),
        ("writer", ["the film"], {"length": 20, "seed": 5}),
    ],
)
def test_predictions_are_those_of_python(served, request, name, items, options) -> None:
    run = load(request.getfixturevalue(name))
    reply = served.ask(
        f"/v1/models/{name}/predict", {"items": items, **({"options": options} if options else {})}
    )
    assert reply.status == 200
    chosen = run.task.options(**options) if options else None
    expected = [answer.to_json() for answer in run.predict(items, chosen)]
    answers = reply.json["answers"]
    for answer in answers:
        answer.pop("note", None)
    assert close(answers, json.loads(json.dumps(expected)))


def test_cards(served, classifier) -> None:
    reply = served.ask("/v1/models").json
    cards = {card["id"]: card for card in reply["data"]}
    assert set(cards) == {"classifier", "writer", "translator", "tagger"}
    card = cards["classifier"]
    assert (card["task"], card["model"], card["labels"]) == ("classify", "bilstm", ["neg", "pos"])
    assert card["metrics"] == load(classifier).report.metrics
    assert {card["self_check"] for card in cards.values()} == {"passed"}
    assert card["threads"] == 1
    assert served.ask("/v1/models/classifier").json["id"] == "classifier"
    assert served.ask("/v1/models/nobody").status == 404


def test_health(served) -> None:
    assert served.ask("/healthz").json == {"alive": True}
    assert served.ask("/readyz").json == {"ready": True}
    figures = served.ask("/metrics").body.decode()
    assert 'unspool_ready{model="classifier"} 1.0' in figures
    assert 'unspool_requests_total{operation="other",status="200"}' in figures


def test_completions_are_the_text_that_python_writes(served, writer) -> None:
    run = load(writer)
    whole = run.generate("the film", length=30, temperature=0.7, seed=9)
    request = {
        "prompt": "the film", "max_tokens": 30, "temperature": 0.7, "seed": 9, "echo": True,
        "logprobs": 2, "model": "writer",
    }  # fmt: skip
    reply = served.ask("/v1/completions", request).json
    (choice,) = reply["choices"]
    assert choice["text"] == whole
    assert choice["finish_reason"] == "length"
    assert len(choice["logprobs"]["tokens"]) == 30
    assert all(len(top) == 2 for top in choice["logprobs"]["top_logprobs"])
    events = served.ask("/v1/completions", {**request, "stream": True}).body.decode()
    *lines, last = [line[6:] for line in events.split("\n\n") if line]
    assert last == "[DONE]"
    assert "".join(json.loads(line)["choices"][0]["text"] for line in lines) == whole


def test_a_stop_ends_a_text(served, writer) -> None:
    whole = load(writer).generate("the", length=60, temperature=1.0, seed=2)[3:]
    stop = whole[20:24]
    request = {"prompt": "the", "max_tokens": 60, "seed": 2, "stop": [stop]}
    choice = served.ask("/v1/completions", request).json["choices"][0]
    assert choice["text"] == whole[: whole.index(stop)]
    assert choice["finish_reason"] == "stop"


def test_texts_that_are_written_together_are_those_written_alone(served) -> None:
    prompts = ["the film", "a", "the film", "lovely plot and"]
    asked = {"max_tokens": 25, "seed": 4, "n": 2, "temperature": 0.9, "top_k": 5}
    together = served.ask("/v1/completions", {"prompt": prompts, **asked}).json["choices"]
    for index, choice in enumerate(together):
        alone = {"prompt": prompts[index // 2], **asked, "n": 1, "seed": 4 + index}
        text = served.ask("/v1/completions", alone).json["choices"][0]["text"]
        assert text == choice["text"]


def test_embeddings(served) -> None:
    request = {"model": "classifier", "input": ["a film", "a lovely film with a plot"]}
    reply = served.ask("/v1/embeddings", request).json
    vectors = [np.array(each["embedding"]) for each in reply["data"]]
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)
    coded = served.ask("/v1/embeddings", {**request, "encoding_format": "base64"}).json
    decoded = [np.frombuffer(base64.b64decode(e["embedding"]), "<f4") for e in coded["data"]]
    assert np.allclose(decoded, vectors, atol=1e-6)
    alone = served.ask("/v1/embeddings", {"model": "classifier", "input": "a film"}).json
    assert np.allclose(alone["data"][0]["embedding"], vectors[0], atol=1e-5)


def test_explanations_are_those_of_python(served, classifier) -> None:
    asked = {"input": "a fine film", "parameters": {"answer": "neg"}}
    reply = served.ask("/v1/models/classifier/explain", asked)
    assert close(reply.json, load(classifier).explain("a fine film", answer="neg").to_json())
    trace = served.ask("/v1/models/classifier/explain", {"input": "a film", "view": "trace"})
    assert trace.json["tokens"] == load(classifier).trace("a film").to_json()["tokens"]
    wrong = served.ask("/v1/models/classifier/explain", {"input": "a", "view": "magic"})
    assert (wrong.status, wrong.json["detail"]) == (422, "there is no view 'magic' of an input")


def test_look_is_there_if_asked_for(served, classifier) -> None:
    assert b"<title>unspool</title>" in served.ask("/look/classifier/").body
    assert served.ask("/look/classifier/web/app.js").status == 200
    assert served.ask("/look/classifier/api/run").json["name"] == "classifier"
    subject = load(classifier).subject()
    expected = page_answer(subject, "answer", {"text": "a lovely film"})
    assert close(served.ask("/look/classifier/api/answer?text=a+lovely+film").json, expected)
    assert served.ask("/look/classifier/api/nothing").status == 400
    assert served.ask("/look/nobody/api/run").status == 404


def test_open_inference_protocol(served) -> None:
    assert served.ask("/v2/models/classifier").json["inputs"][0]["datatype"] == "BYTES"
    tensor = {"name": "text", "shape": [2], "datatype": "BYTES", "data": ["a film", "dull"]}
    reply = served.ask("/v2/models/classifier/infer", {"id": "7", "inputs": [tensor]}).json
    assert reply["id"] == "7"
    outputs = {each["name"]: each for each in reply["outputs"]}
    predicted = served.ask("/v1/models/classifier/predict", {"items": ["a film", "dull"]}).json
    assert outputs["label"]["data"] == [each["label"] for each in predicted["answers"]]
    bad = served.ask("/v2/models/classifier/infer", {"inputs": [{**tensor, "shape": [3]}]})
    assert bad.status == 422


def test_a_text_goes_on_in_a_session(served, writer) -> None:
    stream = load(writer).stream()
    first = served.ask("/v1/models/writer/sessions", {"push": "the "}).json
    assert close(first["answers"], [stream.push("the ").to_json()])
    path = f"/v1/models/writer/sessions/{first['session']}"
    second = served.ask(path, {"push": "film", "finish": True}).json
    assert close(second["answers"][0], stream.push("film").to_json())
    assert (second["session"], second["steps"]) == (None, stream.steps)
    assert served.ask(path, {"push": "x"}).status == 404
    again = served.ask("/v1/models/writer/sessions", {"push": "a"}).json
    ended = served.ask(f"/v1/models/writer/sessions/{again['session']}", method="DELETE")
    assert ended.status == 200
    reason = served.ask("/v1/models/classifier/sessions", {"push": "a"})
    assert reason.status == 404
    assert "it reads in both directions" in reason.json["detail"]


def test_lines_of_a_stream(served, writer) -> None:
    chunks = ["the f", "ilm was", " l"]
    body = b"".join(json.dumps({"push": chunk}).encode() + b"\n" for chunk in chunks)
    reply = served.ask("/v1/models/writer/stream", body)
    *answers, last = map(json.loads, reply.body.splitlines())
    stream = load(writer).stream()
    expected = [stream.push(chunk).to_json() for chunk in chunks]
    assert close([answer["answers"][0] for answer in answers], expected)
    assert last["session"] is None


def test_a_websocket(served, writer) -> None:
    from websockets.sync.client import connect

    stream = load(writer).stream()
    with connect(f"ws://127.0.0.1:{served.port}/v1/models/writer/stream") as socket:
        for chunk in ("the", " film"):
            socket.send(json.dumps({"push": chunk}))
            answer = json.loads(socket.recv(timeout=20))
            assert close(answer["answers"][0], stream.push(chunk).to_json())
        socket.send("no JSON")
        assert json.loads(socket.recv(timeout=20))["status"] == 400


def test_the_document_names_every_route_of_the_models(served) -> None:
    document = served.ask("/openapi.json").json
    paths = document["paths"]
    assert "/v1/models/classifier/predict" in paths
    assert "/v1/models/classifier/sessions" not in paths
    assert "/v1/models/writer/sessions" in paths
    request = paths["/v1/models/translator/predict"]["post"]["requestBody"]["content"]
    schema = request["application/json"]["schema"]
    (options,) = schema["$defs"].values()
    assert options["properties"]["beam"]["description"].startswith("width of the beam")
    assert "Open" not in json.dumps(paths["/healthz"])


def test_a_pack_is_served_like_its_folder(serve, classifier, tmp_path) -> None:
    load(classifier).pack(tmp_path / "film.unspool")
    server = serve(tmp_path / "film.unspool")
    reply = server.ask("/v1/models/film/predict", {"items": ["a lovely film"]}).json
    assert reply["answers"][0]["label"] == load(classifier).predict(["a lovely film"])[0].label
    assert server.stop() == 0
