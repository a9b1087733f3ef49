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

from unspool.errors import ConfigError
from unspool.export.onnx import export_onnx

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


WRITES = ("generate", "translate", "summarize")
TASKS = ("classify", "regress", "tag", *WRITES)
# Settings without a graph, and what the documentation says of them.
REFUSED: dict[str, Callable[[Case, dict[str, Any]], bool]] = {
    "vectors in context (`--from` an `elmo` run)": lambda case, settings: case.from_elmo,
    "windows of long series (`window`)": lambda case, settings: "window" in settings,
    "series that are scaled by themselves (`scaling=series`, `window`)": lambda case, settings: (
        settings.get("input") == "series" and settings.get("scaling", "none") != "none"
    ),
    "decoders that copy words (`copy`)": lambda case, settings: (
        settings.get("copy") or (case.task == "summarize" and case.model != "seq2seq")
    ),
    "irregular steps (`irregular=channel`, `resample`)": lambda case, settings: (
        "irregular" in settings
    ),
}


SHORT = {"generate": {"length": 20}}


def refused(case: Case) -> bool:
    settings = dict(case.settings)
    return case.task not in TASKS or any(rule(case, settings) for rule in REFUSED.values())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_graph_answers_as_its_model(case: Case, data: Path, tmp_path: Path) -> None:
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
    exported = export_onnx(made.task, made.model, out, source="run")
    assert exported.error < 1e-5
    model = program(out).Model(out)
    for check in json.loads((out / "check.json").read_text()):
        if model.writer:
            assert model.write(check["item"], **SHORT.get(case.task, {})) == check["text"]
            continue
        for name, value in model.run([check["item"]]).items():
            expected = np.array(check["outputs"][name])
            scale = max(1.0, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(value[0], expected, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("line", REFUSED)
def test_the_documentation_lists_what_is_refused(line: str) -> None:
    assert f"* {line}" in DOCS.read_text(encoding="utf-8")
