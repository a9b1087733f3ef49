"""caption: what the tables may look like, what is learnt from them, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import unspool
from pictures import CLASSES, shape, write_lines
from unspool.config import DataConfig
from unspool.data.part import Part
from unspool.errors import DataError
from unspool.nn.inputs import PAD, UNKNOWN
from unspool.nn.taps import record
from unspool.search.decoding import Decoding
from unspool.tasks.caption.task import unattended
from unspool.tasks.planner import open_inputs, open_plan

NAMES = {"bar": ("a tall bar", "an upright bar"), "line": ("a flat line", "a long line"),
         "dot": ("a dot", "one small dot")}  # fmt: skip
SMALL = {
    "hidden": 24, "embedding": 16, "dropout": 0.0, "lr": 5e-3, "epochs": 12, "batch": 16,
    "precision": "fp32", "valid_share": 0.2,
}  # fmt: skip


def write_images(home: Path, count: int, folder: str = "") -> Path:
    (home / folder).mkdir(parents=True, exist_ok=True)
    for i in range(count):
        Image.fromarray(shape(i)).save(home / folder / f"{i}.png")
    return home


def captions(i: int) -> tuple[str, str]:
    return NAMES[CLASSES[i % 3]]


def write_captions(home: Path, count: int) -> Path:
    """Two rows an image, all first captions before all second ones."""
    rows = [f"{i}.png,{captions(i)[k]}" for k in range(2) for i in range(count)]
    write_images(home, count)
    (home / "captions.csv").write_text("\n".join(["file,caption", *rows]) + "\n")
    return home


def texts_of(plan) -> list[tuple[str, list[str]]]:
    return [(row.values[0].name.rsplit("/")[-1], row.values[1]) for row in plan.rows()]


WANTED = [(f"{i}.png", list(captions(i))) for i in range(4)]


@pytest.mark.parametrize("format", ["rows", "numbered", "columns", "lists", "folder", "npz"])
def test_tables_of_captions(format: str, tmp_path: Path) -> None:
    home = write_images(tmp_path, 4, "Images" if format == "folder" else "")
    pairs = [(i, k) for i in range(4) for k in range(2)]
    said, wanted, table = "all of a file together", WANTED, home
    if format in ("rows", "folder"):
        rows = [f"{i}.png,{captions(i)[k]}" for i, k in pairs]
        table = home / "captions.txt"
        table.write_text("\n".join(["image,caption", *rows]) + "\n")
        if format == "folder":
            said = "in the folder Images"
    elif format == "numbered":
        rows = [f"{i}.png#{k}\t{captions(i)[k]} ." for i, k in pairs]
        table = home / "some.token.txt"
        table.write_text("\n".join(rows) + "\n")
        wanted = [(name, [f"{own} ." for own in both]) for name, both in WANTED]
    elif format == "columns":
        rows = [",".join([f"{i}.png", *captions(i)]) for i in range(4)]
        (home / "captions.csv").write_text("\n".join(["file,caption_1,caption_2", *rows]) + "\n")
        said = "captions in caption_1, caption_2"
    elif format == "lists":
        rows = [json.dumps({"file": f"{i}.png", "captions": captions(i)}) for i in range(4)]
        (home / "captions.jsonl").write_text("\n".join(rows) + "\n")
        said = "caption in 'captions'"
    else:
        table = tmp_path / "x.npz"
        x = np.stack([shape(i) for i in range(4)])
        np.savez(table, x=x, caption=np.array([captions(i)[0] for i in range(4)]))
        wanted, said = [(f"x.npz:{i + 1}", [captions(i)[0]]) for i in range(4)], "caption in"
    plan = open_plan(table, DataConfig())
    assert plan.task == "caption", plan.summary
    assert said in plan.summary
    assert 'task="transcribe" where' in plan.summary
    assert texts_of(plan) == wanted
    inputs = open_inputs(table, DataConfig(), "caption")
    assert len(list(inputs.rows())) == 4


def test_which_texts_are_captions(tmp_path: Path) -> None:
    """Texts of lines are transcribed, unless an image has several."""
    lines = write_lines(tmp_path / "lines", ["a b", "b", "a a"])
    plan = open_plan(lines, DataConfig())
    assert plan.task == "transcribe"
    assert '(task="caption" where texts describe what is seen)' in plan.summary
    assert open_plan(lines, DataConfig(), "caption").columns.keys() == {"image", "caption"}
    with (lines / "texts.csv").open("a") as file:
        file.write("0.png,a letter\n")
    assert open_plan(lines, DataConfig()).task == "caption"


def test_what_is_missing(tmp_path: Path) -> None:
    """A file that is missing is not taken from a folder beside it."""
    write_captions(tmp_path / "others", 8)
    home = write_captions(tmp_path / "own", 3)
    Image.fromarray(shape(9)).save(home / "9.png")
    plan = open_plan(home, DataConfig())
    assert "(1 images of its folder are not in the table)" in plan.summary
    with (home / "captions.csv").open("a") as file:
        file.write("7.png,a ghost\n")
    with pytest.raises(DataError, match=r"captions.csv:8: .*7.png"):
        open_plan(home, DataConfig())
    parts = ["file,caption,split", "0.png,a,train", "1.png,b,train", "0.png,c,test"]
    (home / "captions.csv").write_text("\n".join(parts) + "\n")
    with pytest.raises(DataError, match=r"captions.csv:4: '0.png' is in two parts"):
        open_plan(home, DataConfig())


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return write_captions(tmp_path_factory.mktemp("captions"), 120)


@pytest.fixture(scope="module")
def run(home: Path, tmp_path_factory):
    """Of images and captions, of which two images have none."""
    for i in (200, 201):
        Image.fromarray(shape(i)).save(home / f"{i}.png")
    with (home / "captions.csv").open("a") as file:
        file.write("200.png,\n201.png,  \n")
    return unspool.train(home, out=tmp_path_factory.mktemp("runs") / "run", **SMALL)


def test_shapes_are_described(run, home: Path) -> None:
    assert run.task.name == "caption"
    assert run.config.model_name == "xu"
    assert run.report.metrics["exact"] > 0.8
    shown = "\n".join(run.report.lines())
    assert "48 references" in shown
    assert "CIDEr-D" in shown
    (found,) = run.predict(home / "2.png", Decoding(alignment=True, nbest=3))
    assert found.caption in captions(2)
    assert len(found.nbest) == 3
    assert found.alignment.shape == (len(found.tokens), 16)
    assert found.alignment.sum(1) == pytest.approx(np.ones(len(found.tokens)), abs=1e-4)
    (array,) = unspool.load(run.path).predict(shape(2), Decoding(beam=1))
    assert array.caption in captions(2)


def test_images_without_captions_are_counted(run, home: Path) -> None:
    notes: list[str] = []
    config = run.config.model_copy(deep=True)
    corpus = type(run.task).load_corpus(config, {"train": open_plan(home, config.data, "caption")})
    notes += corpus.notes
    (left,) = (note for note in notes if "left out" in note)
    assert left.startswith("2 images with an empty caption left out, the first at")


def test_rows_of_the_same_image_are_read_once(run, home: Path) -> None:
    """The loss of two captions together is that of each alone."""
    task, model = run.task, run.model.eval()
    part = Part.of(
        task.fields, image=[home / "0.png", home / "1.png"], caption=[captions(0), captions(1)]
    )
    with torch.no_grad():
        both = task.loss(model, part.collate(np.arange(2)), None)
        total = 0.0
        for i in range(2):
            for text in captions(i):
                own = Part.of(task.fields, image=[home / f"{i}.png"], caption=[[text]])
                step = task.loss(model, own.collate(np.arange(1)), None)
                total += float(step.loss) * step.targets
    assert float(both.loss) * both.targets == pytest.approx(total, rel=1e-4)


def test_doubly_stochastic_attention(run, home: Path) -> None:
    """The penalty is that of the equation, and its gradient reaches the attention."""
    weights = torch.tensor([[[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]]])
    encoded = run.model.encoder(torch.zeros(1, 8, 8), torch.tensor([8]))
    rows = torch.tensor([0])
    both = unattended(weights, torch.tensor([2]), encoded._replace(outputs=weights), rows)
    assert both.tolist() == pytest.approx([0.3**2 + 0.3**2 + 0.4**2])
    first = unattended(weights, torch.tensor([1]), encoded._replace(outputs=weights), rows)
    assert first.tolist() == pytest.approx([0.5**2 + 0.5**2 + 1])
    model = run.config.model.model_copy(update={"doubly_stochastic": 1.0})
    task = type(run.task)(run.config.model_copy(update={"model": model}), run.task.fields)
    part = Part.of(task.fields, image=[home / "0.png"], caption=[captions(0)])
    batch = part.collate(np.arange(1))
    plain, more = (own.loss(run.model, batch, None).loss for own in (run.task, task))
    assert float((more - plain).detach()) > 0
    run.model.zero_grad()
    (more - plain).backward()
    assert run.model.decoder.attention.v.weight.grad.abs().sum() > 0
    run.model.zero_grad()


def test_word_dropout_hides_words_that_were_written(run, home: Path, monkeypatch) -> None:
    """In training alone, and never <s>; what is to be written stays."""
    model = run.config.model.model_copy(update={"word_dropout": 0.5})
    task = type(run.task)(run.config.model_copy(update={"model": model}), run.task.fields)
    part = Part.of(task.fields, image=[home / "0.png"] * 40, caption=[captions(0)] * 40)
    captions_of = part.collate(np.arange(40))["caption"]
    encoded = run.model.encoder(*part.collate(np.arange(40))["image"].inputs)
    read, own = [], run.model.decoder.read

    def watched(ids, *args, **options):
        read.append(ids)
        return own(ids, *args, **options)

    monkeypatch.setattr(run.model.decoder, "read", watched)
    try:
        run.model.train()
        trained, rows = task.targets(run.model, encoded, captions_of)
        run.model.decoder.token_losses(trained, rows)
    finally:
        run.model.eval()
    judged, rows = task.targets(run.model, encoded, captions_of)
    run.model.decoder.token_losses(judged, rows)
    before = captions_of.ids[:, :-1]
    real = (before != PAD) & (torch.arange(before.shape[1]) > 0)
    assert torch.equal(trained.ids, judged.ids)
    assert torch.equal(read[1], before)
    assert torch.equal(read[0][~real], before[~real])
    hidden = read[0] != before
    assert (read[0][hidden] == UNKNOWN).all()
    assert 0.35 < float(hidden[real].float().mean()) < 0.65  # of 240 tokens and more


def test_what_look_reads(run, home: Path) -> None:
    reading = run.task.reading(run.model, home / "2.png")
    assert len(reading.answer.candidates) == 5
    assert reading.input.tokens[:5] == ["1,1", "1,2", "1,3", "1,4", "2,1"]
    weights = reading.answer.alignment()
    assert weights.shape == (len(reading.answer.tokens), 16)
    (found,) = run.predict(home / "2.png", Decoding(alignment=True))
    assert reading.answer.tokens[:-1] == found.tokens
    assert weights[:-1] == pytest.approx(found.alignment, abs=1e-4)
    with record(run.model, "decoder.alignment") as trace, torch.no_grad():
        scores = reading.run()
    assert trace["decoder.alignment"][0].numpy() == pytest.approx(weights, abs=1e-4)
    hidden = reading.without(6)
    assert hidden.answer.target == reading.answer.target
    assert not torch.equal(hidden.run(), scores)


@pytest.mark.parametrize("decoding", [Decoding(), Decoding(beam=1), Decoding(temperature=0.7)])
def test_batches_change_no_caption(run, home: Path, decoding: Decoding) -> None:
    paths = [home / f"{i}.png" for i in range(6)]
    together = [own.caption for own in run.task.predict(run.model, paths, decoding)]
    if not decoding.sampling:
        alone = [next(run.task.predict(run.model, [own], decoding)).caption for own in paths]
        assert together == alone
    assert len(together) == 6


def test_captions_are_checked(tmp_path: Path) -> None:
    report = unspool.check(write_captions(tmp_path, 12), task="caption", valid_share=0.2)
    assert report.parts
