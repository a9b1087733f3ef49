"""`unspool export --to web`: its modules against the package in node, and the page in a browser."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unspool
from unspool.cli import run as command
from unspool.errors import ConfigError
from unspool.export.standalone import Model, TextTokenizer, reader
from unspool.export.web import RUNTIME, WEB

CHROMIUM = "/usr/bin/chromium"
SMALL: dict[str, Any] = {"hidden": 8, "epochs": 1, "threads": 1, "quiet": True, "baseline": False}
TEXTS = [
    "a good film",
    "",
    "Dull, don't! (I'll <unk> <pad> it's) 'tis o’clock",
    "ﬁne ½ ΣΊΣΥΦΟΣ Ⅷ İstanbul STRASSE e-mail's",
    "हिन्दी में लिखा",
    "日本語 テスト，русский текст",
    "a\u0301 x\u200dy  tab\tand\u00a0space\u2003em 👍🏽 \U000110001\U0001d165",
    "new\nlines\n\nand\x1cseparators\x85next \ufeffmark  ",
    "we're they’ve I'M 's 123abc 3.14 __init__ 'LL",
]


@functools.cache
def node() -> str:
    path = shutil.which("node")
    if path is None:
        pytest.skip("needs node")
    return path


def evaluate(script: str, data: Any) -> Any:
    """What a module of the page prints for `data`, as JSON."""
    code = f"""
    import {{ readFileSync }} from 'node:fs';
    const data = JSON.parse(readFileSync(0, 'utf8'));
    {script}
    const shown = (key, value) => (
      ArrayBuffer.isView(value) ? Array.from(value, Number) : value
    );
    console.log(JSON.stringify(result, shown));
    """
    result = subprocess.run(
        [node(), "--input-type=module", "-e", code],
        input=json.dumps(data), capture_output=True, text=True, cwd=WEB,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"split": "space"},
        {"kind": "char"},
        {"kind": "bpe", "vocab": 400},
        {"lowercase": True, "normalize": "nfkc"},
        {"kind": "bpe", "vocab": 300, "lowercase": True},
    ],
)
def test_tokenizers(settings: dict[str, Any], tmp_path: Path) -> None:
    """Texts of many scripts become the same ids."""
    frame = pd.DataFrame({"text": [t for t in TEXTS if t] * 8, "label": list("abcdefgh") * 8})
    run = unspool.train(
        frame, model="gru", embedding=4, min_count=1, out=tmp_path / "run", **{**SMALL, **settings}
    )
    stored = run.task.input_field.portable()["tokenizer"]
    script = """
    const { Tokenizer } = await import('./tokenizer.js');
    const tokenizer = new Tokenizer(data.stored);
    const result = data.texts.map((text) => tokenizer.ids(text));
    """
    ids = evaluate(script, {"stored": stored, "texts": TEXTS})
    python = TextTokenizer(stored)
    for text, ours, theirs in zip(TEXTS, map(python.ids, TEXTS), ids, strict=True):
        assert theirs == list(ours), text


class Example:
    """A run, and items for it."""

    def __init__(self, run: unspool.Run, items: list[Any]) -> None:
        self.run, self.items = run, items


def plain(reviews: Path, out: Path) -> Example:
    return Example(unspool.train(reviews, out=out, quiet=True), TEXTS)


def mean_of_models(reviews: Path, out: Path) -> Example:
    frame = pd.read_csv(reviews)
    frame["label"] = frame["text"].str.len() / 10
    settings = {**SMALL, "baseline": True}
    return Example(unspool.train(frame, task="regress", model="bigru", out=out, **settings), TEXTS)


def pairs(reviews: Path, out: Path) -> Example:
    rows = {"text": ["anna met carl", "dora saw eva"], "text_pair": ["carl", "nobody met dora"]}
    frame = pd.DataFrame({name: values * 20 for name, values in rows.items()})
    frame["label"] = ["yes", "no"] * 20
    run = unspool.train(frame, model="bilstm", max_length=8, out=out, **SMALL)
    return Example(
        run, [["anna", "carl met dora and eva and anna"], ["", "carl"], ["a b c d e f", "x"]]
    )


def linear_pairs(reviews: Path, out: Path) -> Example:
    items = pairs(reviews, out.with_name("other")).items
    rows = {"text": ["anna met carl", "dora saw eva"], "text_pair": ["carl", "nobody"]}
    frame = pd.DataFrame({name: values * 20 for name, values in rows.items()})
    frame["label"] = ["yes", "no"] * 20
    return Example(unspool.train(frame, model="linear", out=out, threads=1, quiet=True), items)


def words(reviews: Path, out: Path) -> Example:
    rng = np.random.default_rng(0)
    names = ["anna", "bern", "met", "saw", "in"]
    rows = [[names[i] for i in rng.integers(0, 5, n)] for n in rng.integers(1, 9, 60)]
    tags = [["B-PER" if w == "anna" else "B-LOC" if w == "bern" else "O" for w in s] for s in rows]
    run = unspool.train(
        {"words": rows, "tags": tags}, task="tag", out=out, hidden=8, epochs=1, quiet=True
    )
    return Example(run, ["anna saw (Bern) don't", "x", ["in", "Anna", "two words"], *TEXTS[2:6]])


def gappy(reviews: Path, out: Path) -> Example:
    rng = np.random.default_rng(0)
    rows = [rng.normal(i % 2, 1, (5 + i % 7, 2)) for i in range(60)]
    for values in rows:
        values[rng.random(len(values)) < 0.2, 1] = np.nan
    labels = [str(i % 2) for i in range(60)]
    run = unspool.train(rows, labels, model="bilstm", out=out, **SMALL)
    return Example(run, [[[0.5, 1.0], [2.0, None], [-1.0, 0.25]], [[1.0, None]]])


EXAMPLES: dict[str, Callable[[Path, Path], Example]] = {
    each.__name__: each for each in (plain, mean_of_models, pairs, linear_pairs, words, gappy)
}


@pytest.fixture(scope="module")
def example(reviews, tmp_path_factory) -> Callable[[str], Example]:
    """A run is trained once."""
    base = tmp_path_factory.mktemp("web")
    return functools.cache(lambda name: EXAMPLES[name](reviews, base / name))


@pytest.mark.parametrize("name", EXAMPLES)
def test_inputs(name: str, example) -> None:
    """The page makes the inputs that predict.py makes."""
    run, items = example(name).run, example(name).items
    settings = run.task.input_field.portable()
    script = """
    const { reader } = await import('./readers.js');
    const result = reader(data.settings).batch(data.items);
    """
    made = evaluate(script, {"settings": settings, "items": items})
    numbers = [[[np.nan if x is None else x for x in step] for step in item] for item in items]
    expected = reader(settings).batch(numbers if settings["kind"] == "series" else items)
    assert list(made) == list(expected)
    for key, value in expected.items():
        assert made[key]["type"] == str(value.dtype)
        assert made[key]["dims"] == list(value.shape)
        np.testing.assert_allclose(np.reshape(made[key]["data"], value.shape), value, rtol=1e-6)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory) -> Path:
    """A folder in which npm put onnxruntime-web."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm")
    folder = tmp_path_factory.mktemp("npm")
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "onnxruntime-web"]
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    if result.returncode:
        pytest.skip(f"npm could not install onnxruntime-web: {result.stderr[-200:]}")
    return folder


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def served() -> Iterator[Callable[[Path], str]]:
    """A server of files that knows nothing else."""
    servers = []

    def serve(folder: Path) -> str:
        handler = functools.partial(QuietFiles, directory=str(folder))
        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def browser(playwright) -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs a browser: {CHROMIUM}")
    chromium = playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
    )
    yield chromium
    chromium.close()


def opened(browser: Any, address: str, problems: list[str], **context: Any) -> Any:
    page = browser.new_context(**context).new_page()
    page.set_default_timeout(60_000)
    page.on("console", lambda m: m.type == "error" and problems.append(m.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: r.url.startswith((address, "data:")) or problems.append(r.url))
    page.goto(address)
    return page


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_answers_as_the_run(
    name: str, example, runtime, served, browser, tmp_path
) -> None:
    run = example(name).run
    folder = run.export(tmp_path / "page", to="web", runtime=runtime).folder
    problems: list[str] = []
    size = (
        {"width": 390, "height": 800}
        if name in ("pairs", "gappy")
        else {"width": 1300, "height": 900}
    )
    page = opened(browser, served(folder), problems, viewport=size)
    page.wait_for_selector("body[data-ready]")
    assert page.inner_text("#check").startswith("Checked: outputs differ by")
    items = example(name).items
    script = """
    async (items) => {
      const { Model } = await import('./model.js');
      const ort = await import('./runtime/ort.wasm.min.mjs');
      return (await Model.open(ort)).answers(items);
    }
    """
    answers = page.evaluate(script, items)
    series = name == "gappy"
    read = [np.array(item, dtype=float) for item in items] if series else items
    for item, ours, theirs in zip(
        items, run.predict(map(tuple, read) if "pairs" in name else read), answers, strict=True
    ):
        expected = ours.to_json()
        if "probabilities" in expected:
            assert theirs["label"] == expected["label"], item
            p = dict(theirs["probabilities"])
            assert p == pytest.approx(expected["probabilities"], abs=1e-6)
        elif "numbers" in theirs:
            assert theirs["numbers"] == pytest.approx(expected["numbers"], rel=1e-5)
        else:
            assert theirs["tags"] == [word.tag for word in ours.words]
            assert theirs["words"] == [word.word for word in ours.words]
    typed = {"pairs": "anna met", "gappy": "x,y\n0.5,1\n2,\n-1,0.25"}.get(
        name, "anna saw a good film"
    )
    page.fill("#item", typed)
    page.click("button.primary")
    page.wait_for_selector("#answer .note")
    answer = page.inner_text("#answer")
    assert answer.strip()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if name == "gappy":
        assert run.predict([np.array([[0.5, 1], [2, np.nan], [-1, 0.25]])])[0].label in answer
        page.fill("#item", "1,2,3")
        page.click("button.primary")
        page.wait_for_selector("#answer .error")
        assert "step 1 has 3 numbers; the model reads 2" in page.inner_text("#answer")
    assert problems == []


def test_without_the_runtime_the_page_says_so(example, served, browser, tmp_path) -> None:
    folder = example("pairs").run.export(tmp_path / "page", to="web").folder
    package = json.loads((folder / "package.json").read_text())
    assert list(package["dependencies"]) == ["onnxruntime-web"]
    page = opened(browser, served(folder), [])
    page.wait_for_selector(".error")
    assert "npm install" in page.inner_text(".error")


def test_the_folder(example, tmp_path, capsys) -> None:
    copied = tmp_path / "dist"
    copied.mkdir()
    for name in RUNTIME:
        (copied / name).write_text("//")
    out = tmp_path / "page"
    run = str(example("pairs").run.path)
    assert command(["export", run, "--to", "web", "--out", str(out), "--runtime", str(copied)]) == 0
    assert "python -m http.server" in capsys.readouterr().out
    page = (out / "index.html").read_text()
    assert "<h1>pairs</h1>" in page
    assert "default-src 'none'" in page
    texts = [path.read_text() for path in out.iterdir() if path.suffix in (".js", ".html", ".css")]
    assert not [text for text in texts if "https:" in text or "eval(" in text]
    assert {path.name for path in (out / "runtime").iterdir()} == set(RUNTIME)
    items = ["anna ||| carl"]
    assert next(iter(Model(out).answers(items)))["label"] in ("yes", "no")


def test_what_is_refused(example, writer, reviews, tmp_path) -> None:
    run = example("pairs").run
    with pytest.raises(ConfigError, match="a page cannot run a model that writes token by token"):
        unspool.load(writer).export(tmp_path / "a", to="web")
    with pytest.raises(ConfigError, match=r"onnxruntime-web is not there: no ort\.wasm\.min\.mjs"):
        run.export(tmp_path / "b", to="web", runtime=tmp_path)
    with pytest.raises(ConfigError, match="runtime is for web; got 'to=onnx'"):
        run.export(tmp_path / "c", runtime=tmp_path)
    rows = [np.random.default_rng(i).normal(i % 2, 1, (20, 1)) for i in range(40)]
    linear = unspool.train(
        rows, [str(i % 2) for i in range(40)], model="rocket", out=tmp_path / "run", quiet=True
    )
    with pytest.raises(ConfigError, match="a page cannot make the inputs; got 'features'"):
        linear.export(tmp_path / "d", to="web")
    assert not [path for path in tmp_path.iterdir() if path.name in "abcd"]
