"""Servers that bench/serve.py is compared with.

    python bench/serve_peers.py NAME PORT VOCABULARY [BATCH]

NAME is `fastapi` (a handler that calls torch, as tutorials have it) or `litserve` (with batches),
each with `-bilstm` or `-transformer`: networks of the sizes of bench/serve.py in torch.nn. A text
is words, numbered by VOCABULARY, a JSON list.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

try:
    from litserve import LitAPI
except ImportError:
    LitAPI = object

HIDDEN, HEADS = 128, 4


class BiLSTM(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, HIDDEN, padding_idx=0)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * HIDDEN, 2)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(ids), lengths, batch_first=True, enforce_sorted=False
        )
        outputs, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.output(outputs.sum(1) / lengths[:, None])


class Transformer(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, HIDDEN, padding_idx=0)
        self.position = nn.Embedding(1024, HIDDEN)
        layer = nn.TransformerEncoderLayer(HIDDEN, HEADS, 4 * HIDDEN, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.output = nn.Linear(HIDDEN, 2)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        pad = torch.arange(ids.shape[1])[None] >= lengths[:, None]
        x = self.embedding(ids) + self.position.weight[: ids.shape[1]]
        x = self.encoder(x, src_key_padding_mask=pad if bool(pad.any()) else None)
        x = x.masked_fill(pad[..., None], 0.0)
        return self.output(x.sum(1) / lengths[:, None])


class Predictor:
    """Texts in, labels with their probabilities out."""

    def __init__(self, kind: str, vocabulary: list[str]) -> None:
        torch.set_num_threads(1)
        self.numbers = {word: i for i, word in enumerate(vocabulary, 2)}
        words = len(vocabulary) + 2
        self.model = (BiLSTM(words) if kind == "bilstm" else Transformer(words)).eval()

    @torch.inference_mode()
    def __call__(self, texts: list[str]) -> list[dict[str, Any]]:
        rows = [[self.numbers.get(word, 1) for word in text.split()] or [1] for text in texts]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        p = self.model(ids, torch.tensor([len(row) for row in rows])).softmax(-1).tolist()
        return [
            {"text": text, "label": "ab"[row[1] > row[0]], "probabilities": dict(zip("ab", row))}
            for text, row in zip(texts, p)
        ]


def fastapi(predictor: Predictor, port: int) -> None:
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    app = FastAPI()

    class Request(BaseModel):
        items: list[str]

    def predict(request: Request) -> dict[str, Any]:
        return {"answers": predictor(request.items)}

    predict.__annotations__ = {"request": Request, "return": dict}
    app.post("/predict")(predict)
    uvicorn.run(app, port=port, log_level="critical", access_log=False)


class Api(LitAPI):
    """LitServe's interface; it is pickled for the process of the model."""

    kind = ""
    vocabulary: list[str] = []  # noqa: RUF012

    def setup(self, device: str) -> None:
        self.predictor = Predictor(self.kind, self.vocabulary)

    def decode_request(self, request):  # type: ignore[no-untyped-def]  # LitServe reads its type
        return request["items"][0]

    def batch(self, inputs: list[str]) -> list[str]:
        return inputs

    def predict(self, inputs: list[str]) -> list[dict[str, Any]]:
        return self.predictor(inputs)

    def unbatch(self, outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return outputs

    def encode_response(self, output: dict[str, Any]) -> dict[str, Any]:
        return {"answers": [output]}


def litserve(kind: str, vocabulary: list[str], port: int, most: int) -> None:
    import litserve as ls

    api = Api(max_batch_size=most, batch_timeout=0.005)
    api.kind, api.vocabulary = kind, vocabulary
    ls.LitServer(api, accelerator="cpu").run(
        port=port, host="127.0.0.1", log_level="critical", generate_client_file=False
    )


def main() -> None:
    name, port, file, most = [*sys.argv[1:], "64"][:4]
    library, _, kind = name.partition("-")
    vocabulary = json.loads(Path(file).read_text())
    if library == "fastapi":
        fastapi(Predictor(kind, vocabulary), int(port))
    else:
        litserve(kind, vocabulary, int(port), int(most))


if __name__ == "__main__":
    main()
