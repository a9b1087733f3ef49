"""Captions of photographs: attention against none, a CNN trained here against a trained encoder.

    python bench/captions.py train DATA --encoder FILE.pth --runs RUNS [--only NAME]
    python bench/captions.py judge --runs RUNS
    python bench/captions.py pictures DATA --runs RUNS --to FOLDER
    python bench/captions.py speed DATA --encoder FILE.pth
    python bench/captions.py oracle FILE.pth PACKAGES

DATA is a table `image,caption`, such as captions.txt of Flickr8k: 1,000 images with five captions
each are split by the seed into 800, 100 and 100. `judge` compares the captions of the test images
with those of the same model for other images of the test part (20 derangements), by a paired
bootstrap over images: does a model look at what it describes?
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import unspool
from unspool.tasks.bleu import bleu_of, bleu_statistics
from unspool.tasks.caption.metrics import cider_d, words_of

PHOTOS = {"test_share": 0.1, "min_count": 3, "dropout": 0.4, "patience": 6}
CNN = {"height": 64, "width": 64, "epochs": 15, "embedding": 128, "flip": 0.5, "crop": 0.1}
ENCODED = {"epochs": 20, "embedding": 256}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn-attention": ("xu", CNN),
    "cnn-mean": ("vinyals", CNN),
    "efficientnet-attention": ("xu", ENCODED),
    "efficientnet-mean": ("vinyals", ENCODED),
    "efficientnet-transformer": ("transformer", {"epochs": 20, "hidden": 256}),
}
SHIFTS, RESAMPLES = 20, 2000


def train(data: Path, encoder: str, runs: Path, only: str | None) -> None:
    for name, (model, settings) in VARIANTS.items():
        if only not in (None, name) or (runs / name).exists():
            continue
        own = {} if name.startswith("cnn") else {"image_encoder": encoder}
        started = time.perf_counter()
        run = unspool.train(data, model=model, out=runs / name, **PHOTOS, **settings, **own)
        print(name, f"{time.perf_counter() - started:.0f} s", run.report, sep="\n", flush=True)


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

    def bleu(own: np.ndarray) -> np.ndarray:
        return bleu_of(own, smoothed=False)

    return {
        "bleu4": compared(
            bleu(statistics.sum(0)),
            bleu(other_statistics.sum(0)),
            bleu(draws @ statistics) - bleu(draws @ other_statistics),
        ),
        "cider": compared(cider.mean(), other_cider.mean(), draws @ (cider - other_cider) / n),
        "distinct": len({" ".join(own) for own in texts}),
        "images": n,
    }


def judge(runs: Path) -> None:
    found = {}
    for name in VARIANTS:
        path = runs / name / "evaluation.json"
        if path.exists():
            own = json.loads(path.read_text())
            found[name] = judged(own["captions"])
            print(name, json.dumps(found[name]))
    target = Path(__file__).parent / "results" / "captions.json"
    target.write_text(json.dumps(found, indent=2) + "\n")


def pictures(data: Path, runs: Path, to: Path, name: str) -> None:
    """Five captions of test images with where each word looked."""
    from unspool.insight.plots import attention_maps, caption_figure
    from unspool.io.pictures import save_picture

    run = unspool.load(runs / name)
    captions = json.loads((runs / name / "evaluation.json").read_text())["captions"]
    to.mkdir(parents=True, exist_ok=True)
    for i, own in enumerate(captions[:: max(1, len(captions) // 5)][:5]):
        reading = run.task.reading(run.model, own["name"])
        field = run.task.input_field
        image = field.image(own["name"])
        maps = attention_maps(field, reading.alignment(), image.shape[1])
        figure = caption_figure(image, maps, reading.written, title=own["caption"])
        save_picture(figure, to / f"{name}-{i}.png")
        print(own["name"], "|", own["caption"], "|", own["references"][0])


def oracle(path: Path, packages: str) -> None:
    """Features against the package's own forward."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["train", "judge", "pictures", "oracle"])
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("packages", nargs="?", default="")
    parser.add_argument("--encoder")
    parser.add_argument("--runs", type=Path, default=Path("runs/captions"))
    parser.add_argument("--only")
    parser.add_argument("--to", type=Path, default=Path("runs/captions/pictures"))
    given = parser.parse_args()
    if given.what == "train":
        train(given.data, given.encoder, given.runs, given.only)
    elif given.what == "judge":
        judge(given.runs)
    elif given.what == "pictures":
        pictures(given.data, given.runs, given.to, given.only or "efficientnet-attention")
    else:
        oracle(given.data, given.packages)


if __name__ == "__main__":
    main()
