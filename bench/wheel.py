"""Is a build whole? What is in the wheel and the sdist, and do they work where nothing else is?

    python bench/wheel.py DIST             look into the wheel and the sdist of a folder; a second
    python bench/wheel.py DIST --install   also install the wheel into a new environment, by pip,
                                           then train and predict there; a few minutes

The new environment gets the version of torch that is installed here, so that pip brings no other
build of it. Ends with 1 and a line for each thing that is wrong.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
KERNELS = ("unspool/native/_kernels", "unspool/native/_word2vec")
BUILT_FROM = ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE")


def package_files(*, kernels: bool) -> set[str]:
    """What of the package belongs into a build: code, page and course; not the C++ in a wheel."""
    found = set()
    for path in (SOURCE / "unspool").rglob("*"):
        name = path.relative_to(SOURCE).as_posix()
        if path.is_file() and "__pycache__" not in name and path.suffix not in (".so", ".pyd"):
            found.add(name)
    return {name for name in found if kernels or not name.startswith("unspool/native/cpp/")}


def wrong_in_wheel(path: Path) -> list[str]:
    names = set(zipfile.ZipFile(path).namelist())
    modules = {name for name in names if name.endswith((".so", ".pyd"))}
    files = {name for name in names - modules if ".dist-info/" not in name}
    wrong = differences(files, package_files(kernels=False))
    pure = path.name.endswith("-none-any.whl")
    for kernel in KERNELS:
        if pure == any(name.startswith(kernel + ".") for name in modules):
            wrong.append(f"{kernel}: {'in a wheel for any machine' if pure else 'missing'}")
    if pure:
        print(f"{path.name}: without native kernels, since none could be compiled")
    return wrong


def wrong_in_sdist(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files = {name.removeprefix("src/") for name in names if name.startswith("src/unspool/")}
    missing = [f"{name}: missing" for name in BUILT_FROM if name not in names]
    return missing + differences(files, package_files(kernels=True))


def differences(found: set[str], expected: set[str]) -> list[str]:
    missing = [f"{name}: missing" for name in sorted(expected - found)]
    return missing + [f"{name}: does not belong there" for name in sorted(found - expected)]


def works(wheel: Path) -> list[str]:
    """Installs, trains and predicts in an environment that knows nothing of this one."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
        begun = time.perf_counter()
        subprocess.run([*pip, f"torch=={version('torch')}", str(wheel.resolve())], check=True)
        print(f"installed in {time.perf_counter() - begun:.0f} s")

        def unspool(*words: str) -> str:
            command = [str(programs / "unspool"), *words]
            done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
            return done.stdout.strip()

        print(unspool("--version"))
        unspool("demo", "--data", "data")
        unspool("train", "data/teddy.conll", "--set", "epochs=2", "--out", "run")
        answer = unspool("predict", "run", "Teddy Roosevelt was a great president")
        print(answer)
        right = answer == "[PER Teddy Roosevelt] was a great president"
        return [] if right else [f"a wrong answer: {answer}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path)
    parser.add_argument("--install", action="store_true")
    given = parser.parse_args()
    wheels, sdists = sorted(given.dist.glob("*.whl")), sorted(given.dist.glob("*.tar.gz"))
    wrong = [] if wheels else [f"{given.dist}: no wheel"]
    for path, look in [(w, wrong_in_wheel) for w in wheels] + [(s, wrong_in_sdist) for s in sdists]:
        found = look(path)
        wrong += [f"{path.name}: {line}" for line in found]
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {'wrong' if found else 'whole'}")
    if given.install:
        for wheel in wheels:
            wrong += works(wheel)
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
