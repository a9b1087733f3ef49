"""Data flows one way through the folders: each may import only what stands before it."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "unspool"
ORDER = [
    "errors", "io", "config", "text", "data", "vectors", "native", "nn", "search", "tasks",
    "training", "insight", "page", "serve", "export", "api", "sklearn", "embed",
    "topic_model", "demos", "cli",
    "__main__",
]  # fmt: skip
NN_MAY = {"nn", "native", "io", "errors"}


def unspool_imports(path: Path) -> set[str]:
    """The top-level parts of unspool that a module imports, type hints included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "unspool":
                names = [f"unspool.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("unspool.")}
    return found - {"__version__"}


MODULES = [p for p in ROOT.rglob("*.py") if p.relative_to(ROOT).parts[0] != "__init__.py"]


def test_imports_point_backwards() -> None:
    violations = {}
    for path in MODULES:
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        allowed = NN_MAY if part == "nn" else set(ORDER[: ORDER.index(part) + 1])
        if forbidden := unspool_imports(path) - allowed:
            violations[str(path.relative_to(ROOT))] = sorted(forbidden)
    assert violations == {}


def test_every_part_has_its_place() -> None:
    parts = {p.relative_to(ROOT).parts[0].removesuffix(".py") for p in MODULES}
    assert parts <= set(ORDER)


def test_training_does_not_load_the_page() -> None:
    code = "import sys, unspool.api.train; sys.exit('unspool.page' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
