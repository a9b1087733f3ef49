"""Every network of every task as an ONNX graph, or refused in one line.

A graph is compared with its model by the export itself, at sizes and lengths that the model was not
made for; here the program that comes with it reads its check file. What is refused is listed in
`REFUSED`, with the line of docs/export.md that says so.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from every_model import CASES, Case, make
from onnx import load
from torch import Tensor, nn

import unspool
from unspool.errors import ConfigError
from unspool.export import onnx
from unspool.export.onnx import export_onnx
from unspool.nn import CELLS, Cell
from unspool.tasks import TASKS as TASK_KINDS
from unspool.tasks.transcribe.answer import Transcribing

DOCS = Path(__file__).parents[2] / "docs" / "export.md"


def program(folder: Path) -> Any:
    """predict.py of an exported folder."""
    spec = importlib.util.spec_from_file_location("predict", folder / "predict.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("exports")


WRITES = ("generate", "translate", "summarize", "caption")
TASKS = ("classify", "regress", "tag", "transcribe", "forecast", *WRITES)
# Shapes that no graph was made for: batch and steps.
SHAPES = (*((1 + i * 5 % 4, 1 + (i * i + 3 * i) % 29) for i in range(19)), (2, 61))
# Settings without a graph, and what the documentation says of them.
REFUSED: dict[str, Callable[[Case, dict[str, Any]], bool]] = {
    "vectors in context (`--from` an `elmo` run)": lambda case, settings: case.from_elmo,
    "windows of long series (`window`)": lambda case, settings: (
        "window" in settings and case.task != "forecast"
    ),
    "decoders that copy words (`copy`)": lambda case, settings: (
        settings.get("copy") or (case.task == "summarize" and case.model != "seq2seq")
    ),
    "resampled series (`irregular=resample`)": lambda case, settings: (
        settings.get("irregular") == "resample"
    ),
    "forecasts whose intervals are sampled or Student's (`output=student`, `strategy=recursive`)": (
        lambda case, settings: (
            settings.get("output") == "student"
            or (settings.get("output") == "gaussian" and settings.get("strategy") == "recursive")
        )
    ),
    "decoders that attend to sound (`objective=attention`)": lambda case, settings: (
        settings.get("objective") == "attention"
    ),
}


SHORT = {"generate": {"length": 20}}


def refused(case: Case) -> bool:
    settings = dict(case.settings)
    return case.task not in TASKS or any(rule(case, settings) for rule in REFUSED.values())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_graph_answers_as_its_model(
    case: Case, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "SIZES", SHAPES)
    made, out = make(case, data), tmp_path / "out"
    if refused(case):
        with pytest.raises(ConfigError, match="cannot be exported") as error:
            export_onnx(made.task, made.model, out, source="run")
        assert "\n" not in str(error.value)
        assert not out.exists()
        return
    if case.task in WRITES:  # fresh weights give all tokens about the same probability
        torch.manual_seed(3)
        torch.nn.init.normal_(made.task.export_steps(made.model).output.b, std=0.02)
    check_export(made.task, made.model, out)


def check_export(task: Any, model: Any, out: Path) -> None:
    """Export, at all shapes, and let the program compare its checks."""
    exported = export_onnx(task, model, out, source="run")
    assert exported.error < 1e-5
    assert exported.checks == len(SHAPES)
    model = program(out).Model(out)
    for check in json.loads((out / "check.json").read_text()):
        if model.writer:
            assert model.write(check["item"], **SHORT.get(task.name, {})) == check["text"]
            continue
        for name, value in model.run([check["item"]]).items():
            expected = np.array(check["outputs"][name])
            scale = max(1.0, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(value[0], expected, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("model", ["bilstm", "transformer"])
def test_a_transcript_is_the_best_path(model: str, data: Path, tmp_path: Path) -> None:
    made = make(Case("transcribe", model), data)
    export_onnx(made.task, made.model, tmp_path / "out", source="run")
    field: Any = made.task.input_field
    sounds = made.items()
    values = field.encode(sounds)
    items = [field.vectors(values, row).tolist() for row in range(len(sounds))]
    expected = [
        answer.text for answer in made.task.predict(made.model, sounds, Transcribing(beam=1))
    ]
    answers = program(tmp_path / "out").Model(tmp_path / "out").answers(items)
    assert [answer["text"] for answer in answers] == expected
    assert len(set(expected)) > 1


class Leaky(Cell):
    """A cell that this package does not know."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__(inputs, hidden)
        self.W, self.U = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden, bias=False)

    def step(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        (h,) = state
        h = 0.7 * h + 0.3 * torch.tanh(self.W(x) + self.U(h))
        return h, (h,)


CUSTOM = {
    "classify": {"bidirectional": True, "layers": 2},
    "regress": {"input": "series", "bidirectional": True},
    "tag": {"bidirectional": True, "output": "crf"},
    "generate": {},
    "translate": {"bidirectional": False},
    "transcribe": {"input": "audio", "max_length": 0, "bands": 6},
    "caption": {"input": "image", "max_length": 0},
}


@pytest.mark.parametrize("task", CUSTOM)
def test_a_cell_that_is_not_known(
    task: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "SIZES", SHAPES)
    monkeypatch.setitem(CELLS, "leaky", Leaky)
    kinds = {"translate": "luong", "caption": "xu"}
    model = kinds.get(task, "leaky")
    settings = {**CUSTOM[task], **({"cell": "leaky"} if task in kinds else {})}
    made = make(Case(task, model, tuple(settings.items())), data)
    if task in WRITES:
        torch.manual_seed(3)
        torch.nn.init.normal_(made.task.export_steps(made.model).output.b, std=0.02)
    check_export(made.task, made.model, tmp_path / "out")
    nodes = [node.op_type for node in load(next((tmp_path / "out").glob("*.onnx"))).graph.node]
    assert "Scan" in nodes or task in ("generate", "caption")


def test_a_model_of_the_shape_of_minilm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(onnx, "SIZES", SHAPES)
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *["a", "good", "fine", "film", "bad", "dull", "plot"],
    ]
    folder = tmp_path / "minilm"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=48, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=192, max_position_embeddings=512,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    rows = {
        "text": ["a good film", "a bad plot", "fine", "dull film"] * 10,
        "label": list("xyxy") * 10,
    }
    run = unspool.train(rows, start=folder, out=tmp_path / "run", epochs=1, quiet=True)
    assert (run.config.model.layers, run.config.model.heads) == (6, 12)
    check_export(run.task, run.model, tmp_path / "out")


START, END = "<!-- cases of tests/conformance/test_exports.py -->", "<!-- end -->"


def table() -> str:
    """The models that are exported, and the settings that are refused, of all cases."""
    groups: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for case in CASES:
        if case.task not in TASKS or case.from_elmo:
            continue
        read = next(iter(TASK_KINDS[case.task].make_fields(case.config()).values())).kind
        models, settings = groups.setdefault((case.task, NAMES.get(read, read)), (set(), set()))
        reasons = [name for name, rule in REFUSED.items() if rule(case, dict(case.settings))]
        settings.update(name.partition("(")[2].rstrip(")") for name in reasons)
        models.update([] if reasons else [case.model])
    rows = [
        f"| `{task}` | {read} | {listed(models)} | {', '.join(sorted(settings))} |"
        for (task, read), (models, settings) in groups.items()
    ]
    others = sorted(name for name in TASK_KINDS if name not in TASKS)
    rows.append(f"| {', '.join(f'`{name}`' for name in others)} | | | everything |")
    return "\n".join(["| task | reads | models | refused |", "|---|---|---|---|", *rows])


NAMES = {"bags": "text", "pair_bags": "pair", "features": "series"}


def listed(models: set[str]) -> str:
    """Names of models; all cells as one."""
    cells = {*CELLS, *(f"bi{cell}" for cell in CELLS)}
    names = sorted(models - cells)
    both = cells <= models
    found = models & cells
    if both or set(CELLS) <= models:
        names.insert(0, "every cell" + ", in one or both directions" * both)
    else:
        names += sorted(found)
    return ", ".join(names)


def test_the_table_of_the_documentation() -> None:
    """`PYTHONPATH=tests python tests/conformance/test_exports.py` writes it."""
    text = DOCS.read_text(encoding="utf-8")
    assert text.partition(START)[2].partition(END)[0].strip() == table()


@pytest.mark.parametrize("line", REFUSED)
def test_the_documentation_lists_what_is_refused(line: str) -> None:
    assert f"* {line}" in DOCS.read_text(encoding="utf-8")


if __name__ == "__main__":
    before, _, rest = DOCS.read_text(encoding="utf-8").partition(START)
    DOCS.write_text(f"{before}{START}\n\n{table()}\n\n{END}{rest.partition(END)[2]}")
