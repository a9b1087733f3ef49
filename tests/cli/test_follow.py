"""`unspool predict --follow`: an answer after each line of standard input, the state carried."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import unspool as package

SMALL = {"hidden": 16, "embedding": 8, "threads": 1, "max_steps": 2, "quiet": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("follow")


@pytest.fixture(scope="module")
def steps(folder):
    rng = np.random.default_rng(1)
    rows = [
        f"r{i},{t},{rng.normal(i % 2):.3f},{rng.normal():.3f},{'ab'[i % 2]}"
        for i in range(20)
        for t in range(6)
    ]
    (folder / "steps.csv").write_text("id,time,x,y,label\n" + "\n".join(rows) + "\n")
    return folder / "steps.csv"


@pytest.fixture(scope="module")
def series(steps, folder):
    return package.train(steps, model="gru", out=folder / "series", **SMALL)


@pytest.fixture
def typed(monkeypatch):
    """Lines on standard input."""

    def type_in(text: str | bytes) -> None:
        raw = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))

    return type_in


STEPS = [[0.5, 1.0], [0.25, -1.0], [1.5, 0.0]]


@pytest.mark.parametrize(
    "lines",
    [
        "0.5,1\n0.25,-1\n1.5,0\n",
        "0.5 1\n0.25 -1\n1.5 0",
        "y\tlabel\tx\n1\ta\t0.5\n-1\ta\t0.25\n0\t\t1.5\n",
        "time,x,y\n1,0.5,1\n2,0.25,-1\n3,1.5,0\n",
        "1;0.5;1\n2;0.25;-1\n3;1.5;0\n",
    ],
)
def test_steps_of_a_series(lines, series, typed, unspool) -> None:
    typed(lines)
    ended = unspool("predict", series.path, "--follow")
    assert ended.code == 0, ended.err
    found = [line.split("\t") for line in ended.out.splitlines()]
    whole = [series.predict([np.array(STEPS[: i + 1])])[0] for i in range(3)]
    assert [row[0] for row in found] == [own.label for own in whole]
    assert [float(row[1]) for row in found] == pytest.approx(
        [own.probability for own in whole], abs=1e-4
    )
    assert [row[2] for row in found] == ["1 step", "2 steps", "3 steps"]
    assert "a line is a step: x, y" in ended.err


def test_an_empty_line_begins_another(series, typed, unspool) -> None:
    typed("0.5,1\n0.25,-1\n\n0.5,1\n")
    first, _, again = unspool("predict", series.path, "--follow").out.splitlines()
    assert first == again


def test_series_may_alternate(series, typed, unspool) -> None:
    typed("id,x,y\na,0.5,1\nb,9,9\na,0.25,-1\n")
    rows = unspool("predict", series.path, "--follow", "--json").out.splitlines()
    found = [json.loads(row) for row in rows]
    assert [own["text"] for own in found] == ["a: 1 step", "b: 1 step", "a: 2 steps"]
    whole = series.predict([np.array(STEPS[:2])])[0]
    assert found[2]["probabilities"] == pytest.approx(whole.probabilities, abs=1e-5)


def test_gaps(series, typed, unspool) -> None:
    typed("0.5,\n,-1\n")
    rows = unspool("predict", series.path, "--follow", "--json").out.splitlines()
    whole = series.predict([np.array([[0.5, np.nan], [np.nan, -1]])])[0]
    assert json.loads(rows[1])["probabilities"] == pytest.approx(whole.probabilities, abs=1e-5)


def test_lines_of_a_text(reviews, folder, typed, unspool) -> None:
    run = package.train(reviews, model="gru", out=folder / "text", **SMALL)
    typed("a great\nfilm was dull\n\nawful\n")
    found = unspool("predict", run.path, "--follow", "--json").out.splitlines()
    whole = run.predict(["a great", "a great\nfilm was dull", "awful"])
    for line, own in zip(found, whole, strict=True):
        assert json.loads(line)["probabilities"] == pytest.approx(own.probabilities, abs=1e-5)


def test_a_language_model(writer, typed, unspool) -> None:
    typed("the film\n\nwas good\n")
    ended = unspool("predict", writer, "--follow", "--json")
    first, empty, last = map(json.loads, ended.out.splitlines())
    assert "".join(first["tokens"] + empty["tokens"] + last["tokens"]) == "the film\n\nwas good\n"
    assert first["nats"][0] is None
    assert all(x > 0 for x in first["nats"][1:] + last["nats"])
    assert sum(last["next"].values()) <= 1


def test_answers_come_at_once(series) -> None:
    """Each before the next line is typed."""
    command = [sys.executable, "-m", "unspool", "predict", str(series.path), "--follow"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        for step in range(3):
            process.stdin.write(b"0.5,1\n")
            process.stdin.flush()
            assert process.stdout.readline().split(b"\t")[2].startswith(str(step + 1).encode())
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("0.5,1\n0.5,two\n", ["standard input, line 2: column 'y' holds no number; got 'two'"]),
        ("0.5,1\n0.5\n", ["standard input, line 2: has 1 cells, and a step has 2"]),
        ("1,2,3,4\n", ["standard input, line 1: has 4 cells", "trained on 2 channels", "x, y"]),
        ("1,2\r3,4\n1e300,2\n", ["standard input, line 1"]),
        ("x,z\n1,2\n", ["standard input, line 1: unknown channel; got 'y'"]),
        ("0.5,1\n0.5,inf\n", ["line 2: column 'y' holds no number; got 'inf'"]),
        ("2,0.5,1\n1,0.5,1\n", ["line 2: step 2: time 1 is not after the one of the step before"]),
        (b"0.5,1\n\xff\n", ["standard input, line 2: is not UTF-8"]),
    ],
)  # fmt: skip
def test_bad_lines(lines, says, series, typed, unspool) -> None:
    """What came before them is answered."""
    typed(lines)
    ended = unspool("predict", series.path, "--follow")
    assert ended.code == 2
    assert len(ended.out.splitlines()) == ("line 2" in says[0])
    (line,) = (line for line in ended.err.splitlines() if line.startswith("unspool: "))
    for part in says:
        assert part in line


def test_what_cannot_be_followed(classifier, translator, series, typed, refused) -> None:
    typed("")
    says = [str(classifier), "cannot be read step by step: it reads in both directions"]
    refused("predict", classifier, "--follow", says=says)
    refused("predict", translator, "--follow", says=["reads its input as a whole"])
    says = ["--follow reads standard input", "got '--file'"]
    refused("predict", series.path, "--follow", "--file", "a.csv", says=says)
    refused("predict", series.path, "--follow", "some text", says=["got 'some text'"])


def test_python(series) -> None:
    stream = series.stream()
    assert repr(stream) == "<stream of 0 steps>"
    stream.push(STEPS[0])
    state = stream.state
    answer = stream.push(STEPS[1:])
    assert stream.steps == 3
    assert answer.probabilities == pytest.approx(
        series.predict([np.array(STEPS)])[0].probabilities, abs=1e-5
    )
    stream.state = state
    stream.push(STEPS[1]), stream.push(STEPS[2])
    stream.restart()
    assert stream.steps == 0
    with pytest.raises(package.errors.DataError, match="no steps have been given yet"):
        stream.push(np.empty((0, 2)))
    with pytest.raises(
        package.errors.DataError, match=r"step 1: the model was trained on 2 channels"
    ):
        stream.push([1.0, 2.0, 3.0])


def test_times(steps, folder) -> None:
    run = package.train(steps, model="gru", irregular="channel", out=folder / "timed", **SMALL)
    stream = run.stream()
    stream.push(STEPS[0], times="2026-05-01 10:00:00")
    answer = stream.push(STEPS[1:], times=["2026-05-01 10:00:03", "2026-05-01 10:00:04"])
    stream.restart()
    for step, time in zip(STEPS, (10, 13, 14)):
        again = stream.push(step, time)
    assert answer.probabilities == pytest.approx(again.probabilities, abs=1e-6)
    with pytest.raises(package.errors.DataError, match="reads the time of each step"):
        stream.push(STEPS[0])


def test_half_a_word_is_refused(reviews, folder) -> None:
    run = package.train(reviews, model="gru", out=folder / "words", **SMALL)
    stream = run.stream()
    stream.push("a gre")
    with pytest.raises(package.errors.DataError, match=r"begins within a token.*got 'at film'"):
        stream.push("at film")
    assert stream.push(" film").label in ("pos", "neg")
