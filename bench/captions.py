"""Captions of photographs: attention against none, a CNN trained here against a trained encoder.

    python bench/captions.py train DATA --encoder FILE.pth --runs RUNS [--only NAME]
    python bench/captions.py emoji FOLDER --encoder FILE.pth --runs RUNS [--only NAME]
    python bench/captions.py judge --runs RUNS
    python bench/captions.py shapes
    python bench/captions.py pictures --runs RUNS --to FOLDER [--only NAME]
    python bench/captions.py speed [--encoder FILE.pth]
    python bench/captions.py oracle FILE.pth PACKAGES [--photos FOLDER]

DATA is a table `image,caption`, such as captions.txt of Flickr8k: 1,000 images with five captions
each are split by the seed into 800, 100 and 100. FOLDER of `emoji` has images32.npz (N, 32, 32, 3)
and captions.tsv, whose last column names each image: a tenth is the test part, a tenth of the rest
validates. `judge` compares the captions of the test images with those of the same model for other
images of the test part (20 derangements), by a paired bootstrap over images: does a model look at
what it describes? `shapes` is the demo of that name with other coloured shapes held out, and
without what makes it work.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import unspool
from unspool.search.decoding import Decoding
from unspool.tasks.caption.report import cider_d, words_of
from unspool.tasks.text_metrics import bleu_of, bleu_statistics

PHOTOS = {
    "test_share": 0.1, "min_count": 3, "dropout": 0.4, "patience": 6, "batch": 16, "lr": 2e-3,
}  # fmt: skip
CNN = {
    "height": 32, "width": 32, "flip": 0.5, "crop": 0.05, "hidden": 128, "embedding": 64,
    "dropout": 0.3, "word_dropout": 0.2, "epochs": 25, "patience": 0,
}  # fmt: skip
ENCODED = {"epochs": 14, "embedding": 256}
GATED = {"context_gate": True, "doubly_stochastic": 1.0}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn-attention": ("xu", CNN),
    "cnn-mean": ("vinyals", CNN),
    "efficientnet-attention": ("xu", {**ENCODED, **GATED}),
    "efficientnet-attention-plain": ("xu", ENCODED),
    "efficientnet-mean": ("vinyals", ENCODED),
    "efficientnet-transformer": ("transformer", {"epochs": 14, "lr": 1e-3}),
}
NAMES = {"test_share": 0.1, "min_count": 2, "dropout": 0.4, "epochs": 30, "patience": 10}
EMOJI: dict[str, tuple[str, dict[str, Any]]] = {
    "emoji-cnn-attention": ("xu", {"embedding": 64, "crop": 0.05}),
    "emoji-efficientnet-attention": ("xu", {"embedding": 128}),
}
SHIFTS, RESAMPLES = 20, 2000
# Chosen on the validation part of efficientnet-attention: BLEU-4 15.5; without it 10.7, with 3 14.6
BLOCKED = "--no-repeat-ngram 2"
UNREPEATED = Decoding(no_repeat_ngram=2)


def train(data: Path, encoder: str, runs: Path, only: str | None) -> None:
    for name, (model, settings) in VARIANTS.items():
        learn(data, name, model, {**PHOTOS, **settings}, encoder, runs, only)


def emoji(folder: Path, encoder: str, runs: Path, only: str | None) -> None:
    """Images of 32 x 32 and their names."""
    with np.load(folder / "images32.npz") as found:
        images = found["images"]
    rows = (folder / "captions.tsv").read_text(encoding="utf-8").splitlines()
    runs.mkdir(parents=True, exist_ok=True)
    data = runs / "emoji.npz"
    if not data.exists():
        np.savez(data, x=images, caption=np.array([row.split("\t")[-1] for row in rows]))
    for name, (model, settings) in EMOJI.items():
        learn(data, name, model, {**NAMES, **settings}, encoder, runs, only)


def learn(
    data: Path, name: str, model: str, settings: dict[str, Any], encoder: str, runs: Path,
    only: str | None,
) -> None:  # fmt: skip
    if only not in (None, name) or (runs / name).exists():
        return
    own = {"image_encoder": encoder} if "efficientnet" in name else {}
    started, busy = time.perf_counter(), time.process_time()
    run = unspool.train(data, model=model, out=runs / name, **settings, **own)
    took, core = time.perf_counter() - started, time.process_time() - busy
    print(name, f"{took:.0f} s, {core:.0f} s of the core", run.report, sep="\n", flush=True)


def judged(captions: list[dict[str, Any]]) -> dict[str, Any]:
    """True images against others, of one model."""
    texts = [words_of(own["caption"]) for own in captions]
    wanted = [[words_of(r) for r in own["references"]] for own in captions]
    joined = [[" ".join(r) for r in own] for own in wanted]
    n = len(texts)

    def scores(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = [texts[i] for i in order]
        plain = [" ".join(own) for own in chosen]
        return cider_d(chosen, wanted), bleu_statistics(plain, joined, tokenize="none")

    cider, statistics = scores(np.arange(n))
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(n)
    others = []
    for shift in rng.choice(np.arange(1, n), SHIFTS, replace=False):
        order = np.empty(n, dtype=np.int64)
        order[shuffled] = np.roll(shuffled, shift)
        others.append(scores(order))
    other_cider = np.mean([own for own, _ in others], 0)
    other_statistics = np.mean([own for _, own in others], 0)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)

    def compared(true: np.ndarray, other: np.ndarray, gain: np.ndarray) -> dict[str, Any]:
        low, high = np.quantile(gain, [0.025, 0.975])
        return {
            "true": round(float(true), 3),
            "shuffled": round(float(other), 3),
            "gain": [round(float(low), 3), round(float(high), 3)],
            "p": float((gain <= 0).mean()),
        }

    def bleu(order: int) -> dict[str, Any]:
        true, other, drawn, drawn_other = (
            bleu_of(own, order=order, smoothed=False)
            for own in (
                statistics.sum(0), other_statistics.sum(0), draws @ statistics,
                draws @ other_statistics,
            )
        )  # fmt: skip
        return compared(true, other, drawn - drawn_other)

    return {
        "bleu4": bleu(4),
        "bleu1": bleu(1),
        "cider": compared(cider.mean(), other_cider.mean(), draws @ (cider - other_cider) / n),
        "distinct": len({" ".join(own) for own in texts}),
        "images": n,
    }


def judge(runs: Path) -> None:
    """As models describe by themselves; photographs also without any two words twice in a row. The
    stored figures of runs that are not there are kept."""
    target = Path(__file__).parent / "results" / "captions.json"
    found = json.loads(target.read_text()) if target.exists() else {}
    for name in (*VARIANTS, *EMOJI):
        path = runs / name / "evaluation.json"
        if not path.exists():
            continue
        captions = json.loads(path.read_text())["captions"]
        found[name] = judged(captions)
        print(name, json.dumps(found[name]))
        if name in VARIANTS:
            answers = unspool.load(runs / name).predict(
                [own["name"] for own in captions], UNREPEATED
            )
            again = [{**own, "caption": new.caption} for own, new in zip(captions, answers)]
            found[f"{name}, {BLOCKED}"] = judged(again)
            print(f"{name}, {BLOCKED}", json.dumps(found[f"{name}, {BLOCKED}"]), flush=True)
    target.write_text(json.dumps(found, indent=2) + "\n")


def shapes() -> None:
    """Sentences about coloured shapes that were never seen, and about those that were: how many are
    right."""
    import tempfile

    from unspool.demos import shapes as demo

    cases: list[tuple[int, dict[str, Any]]] = [
        (1, {}), (0, {}), (2, {"seed": 2}), (0, {"seed": 2}), (0, {"attention": "additive"}),
        (0, {"label_smoothing": 0.0}),
    ]  # fmt: skip
    for fold, changed in cases:
        known, held = demo.split_things(fold)
        with tempfile.TemporaryDirectory() as scratch:
            seen, unseen = Path(scratch) / "pictures", Path(scratch) / "unseen"
            demo.write_pictures(seen, demo.training_scenes(known), seed=1)
            demo.write_pictures(unseen, demo.scenes_of(held), seed=2)
            busy = time.process_time()
            run = unspool.train(
                seen, task="caption", model="xu", test=unseen, out=Path(scratch) / "run",
                **{**demo.settings(), **changed},
            )  # fmt: skip
            busy = time.process_time() - busy
            lines = (run.path / "metrics.jsonl").read_text().splitlines()
        valid = max(own.get("valid_exact", 0) for own in map(json.loads, lines))
        exact = run.report.metrics["exact"]
        print(
            f"fold {fold} {changed}: unseen {exact:.3f}, seen (valid) {valid:.3f}, {busy:.0f} s of"
            " the core",
            flush=True,
        )


def pictures(runs: Path, to: Path, name: str) -> None:
    """Five captions of test images, evenly spaced in the test part, with where each word looked."""
    from unspool.insight.plots import attention_maps, caption_figure
    from unspool.io.pictures import save_picture

    run = unspool.load(runs / name)
    captions = json.loads((runs / name / "evaluation.json").read_text())["captions"]
    to.mkdir(parents=True, exist_ok=True)
    for i, own in enumerate(captions[:: max(1, len(captions) // 5)][:5]):
        (answer,) = run.predict([own["name"]], replace(UNREPEATED, alignment=True))
        field = run.task.input_field
        image = field.image(own["name"])
        maps = attention_maps(field, answer.alignment, image.shape[1])
        figure = caption_figure(image, maps, answer.tokens, title=answer.caption)
        save_picture(figure, to / f"{name}-{i}.png")
        print(own["name"], "|", answer.caption, "|", own["references"][0])


class Plain(torch.nn.Module):
    """The model `xu` over features in plain torch: additive attention, an LSTM cell, a loop."""

    def __init__(self, features: int, size: int, vocab: int, positions: int) -> None:
        super().__init__()
        nn = torch.nn
        self.read = nn.Linear(features, size)
        self.positions = nn.Parameter(torch.randn(positions, size) * 0.1)
        self.embedding = nn.Embedding(vocab, size)
        self.query, self.keys = nn.Linear(size, size), nn.Linear(size, size, bias=False)
        self.v = nn.Linear(size, 1, bias=False)
        self.cell = nn.LSTMCell(2 * size, size)
        self.start = nn.Linear(size, 2 * size)
        self.join, self.output = nn.Linear(2 * size, size, bias=False), nn.Linear(size, vocab)

    def forward(self, x: torch.Tensor, rows: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        memory = self.read(x) + self.positions
        keys = self.keys(memory)[rows]
        memory = memory[rows]
        h, c = torch.tanh(self.start(memory.mean(1))).chunk(2, -1)
        y, found = self.embedding(ids), []
        for t in range(ids.shape[1]):
            scores = self.v(torch.tanh(self.query(h)[:, None] + keys))
            context = (scores.softmax(1) * memory).sum(1)
            h, c = self.cell(torch.cat([y[:, t], context], -1), (h, c))
            found.append(torch.tanh(self.join(torch.cat([context, h], -1))))
        return self.output(torch.stack(found, 1))


def speed(images: int = 320, each: int = 5) -> None:
    """An epoch over features (49, 1280) of images with five captions of 5 to 20 words."""
    from unspool.data.fields.texts import TextsBatch
    from unspool.nn.encoder import Encoder
    from unspool.nn.inputs import VectorInput
    from unspool.nn.models.seq2seq import Seq2Seq
    from unspool.nn.network import PassThrough
    from unspool.nn.recurrent_decoder import RecurrentDecoder
    from unspool.tasks.caption.task import CaptionTask

    torch.manual_seed(1)
    size, vocab, batch = 256, 2500, 32
    x = torch.randn(images, 49, 1280)
    lengths = torch.randint(7, 23, (images * each,))
    ids = torch.randint(4, vocab, (images * each, 22))
    ids = ids * (torch.arange(22) < lengths[:, None])
    encoder = Encoder(VectorInput(1280, size), PassThrough(size, steps=49))
    decoder = RecurrentDecoder(vocab, memory=size, embedding=size, cell="lstm", hidden=size)
    ours, plain = Seq2Seq(encoder, decoder), Plain(1280, size, vocab, 49)
    counts = [sum(p.numel() for p in model.parameters()) for model in (ours, plain)]
    optimisers = [torch.optim.Adam(model.parameters(), 1e-3) for model in (ours, plain)]

    def epoch(which: int) -> float:
        started = time.perf_counter()
        for start in range(0, images, batch):
            own, every = slice(start, start + batch), slice(start * each, (start + batch) * each)
            longest = int(lengths[every].max())
            texts = TextsBatch(
                ids[every, :longest].contiguous(), lengths[every], torch.full((batch,), each)
            )
            optimisers[which].zero_grad()
            if which == 0:
                vectors, targets = CaptionTask.targets(ours, ours.encoder(x[own]), texts)
                loss = ours.decoder.output.loss(vectors, targets)
            else:
                logits = plain(x[own], texts.rows, texts.ids[:, :-1])
                loss = torch.nn.functional.cross_entropy(
                    logits.flatten(0, 1), texts.ids[:, 1:].flatten(), ignore_index=0
                )
            loss.backward()
            optimisers[which].step()
        return time.perf_counter() - started

    times = np.array([[epoch(0), epoch(1)] for _ in range(4)])[1:]
    mine, theirs = np.median(times, 0)
    print(
        f"parameters {counts}; {images * each} captions an epoch, {torch.get_num_threads()} threads"
    )
    print(f"unspool {mine:.2f} s, plain torch {theirs:.2f} s: {theirs / mine:.2f} times as fast")


def cached(encoder: str, images: int = 40) -> None:
    """Features of images of 224 x 224: computed, and read from a memory-mapped store."""
    import tempfile

    from unspool.nn.efficientnet import EfficientNetLite0

    model = EfficientNetLite0.read(Path(encoder))
    x = torch.randint(0, 256, (images, 224, 224, 3), dtype=torch.uint8)
    started = time.perf_counter()
    features = torch.cat([model.features(x[i : i + 8]) for i in range(0, images, 8)])
    computed = (time.perf_counter() - started) / images
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.bin"
        features.numpy().tofile(path)
        stored = np.memmap(path, np.float32, mode="r").reshape(features.shape)
        started = time.perf_counter()
        for _ in range(10):
            for i in range(0, images, 8):
                torch.from_numpy(np.array(stored[i : i + 8]))
        read = (time.perf_counter() - started) / (10 * images)
    print(f"computed {1000 * computed:.1f} ms an image, read {1000 * read:.3f} ms:", end=" ")
    print(f"{computed / read:.0f} times as fast")


def oracle(path: Path, packages: str, photos: Path | None) -> None:
    """Features against the package's own forward: of random pixels, and of photographs."""
    from unspool.nn.efficientnet import MEAN, STD, EfficientNetLite0

    sys.path.insert(0, packages)
    from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-not-found]

    theirs = EfficientNet.from_name("efficientnet-lite0")
    theirs.load_state_dict(torch.load(path, weights_only=True))
    theirs.eval()
    ours = EfficientNetLite0.read(path)
    for size in (224, 192):
        x = torch.randint(0, 256, (4, 3, size, size)).float()
        with torch.no_grad():
            wanted, found = theirs.extract_features((x - MEAN) / STD), ours(x)
        if size == 224:  # of others its padding is that of 224
            print(f"{size}: largest difference {float((wanted - found).abs().max()):.2e}")
        print(f"{size}: grid {tuple(found.shape)}")
    if photos is None:
        return
    from PIL import Image

    names = sorted(photos.glob("*.jpg"))[:24]
    pixels = [np.asarray(Image.open(own).convert("RGB").resize((224, 224))) for own in names]
    x = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        wanted, found = theirs.extract_features((x - MEAN) / STD), ours(x)
    apart, most = float((wanted - found).abs().max()), float(wanted.abs().max())
    print(f"{len(names)} photographs: largest difference {apart:.2e}, largest feature {most:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", choices=["train", "emoji", "judge", "shapes", "pictures", "oracle", "speed"]
    )
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("packages", nargs="?", default="")
    parser.add_argument("--encoder")
    parser.add_argument("--runs", type=Path, default=Path("runs/captions"))
    parser.add_argument("--only")
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--to", type=Path, default=Path("runs/captions/pictures"))
    given = parser.parse_args()
    if given.what == "train":
        train(given.data, given.encoder, given.runs, given.only)
    elif given.what == "emoji":
        emoji(given.data, given.encoder, given.runs, given.only)
    elif given.what == "judge":
        judge(given.runs)
    elif given.what == "shapes":
        shapes()
    elif given.what == "pictures":
        pictures(given.runs, given.to, given.only or "efficientnet-attention")
    elif given.what == "speed":
        speed()
        if given.encoder:
            cached(given.encoder)
    else:
        oracle(given.data, given.packages, given.photos)


if __name__ == "__main__":
    main()
