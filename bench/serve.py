"""How many requests does `unspool serve` answer, and how does it bear too many?

    python bench/serve.py speed [--peers PYTHON] [--seconds S]     beside LitServe and FastAPI
    python bench/serve.py stream                                   32 texts at once, and one by one
    python bench/serve.py overload [--seconds 60]                  five times the capacity
    python bench/serve.py reload | stop                            50 reloads, 20 ends, under load
    python bench/serve.py soak [--minutes 20]                      memory and descriptors

Small models are trained first, on generated texts of 200 words (in --runs, kept). The load is that
of bench/load.py, pinned to one core; servers use all cores, models one thread each. CPU is user and
system time of all processes of the server. PYTHON is an interpreter that has litserve.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

HERE = Path(__file__).parent
WORDS, LENGTH, TEXTS = 5_000, 200, 400
TICK = os.sysconf("SC_CLK_TCK")
PORT = int(os.environ.get("PORT", 8765))  # and the next one, for the administrator


# Models and requests


def vocabulary() -> list[str]:
    rng = random.Random(1)
    return sorted({"".join(rng.choices("bcdfgklmnprstaeiou", k=6)) for _ in range(WORDS)})


def texts(count: int, seed: int) -> list[str]:
    rng, words = random.Random(seed), vocabulary()
    return [" ".join(rng.choices(words, k=LENGTH)) for _ in range(count)]


def train(runs: Path) -> None:
    """A classifier of each kind, and a language model of characters."""
    runs.mkdir(parents=True, exist_ok=True)
    table, book = runs / "texts.csv", runs / "book.txt"
    if not table.exists():
        rows = [f"{text},{'ab'[i % 2]}" for i, text in enumerate(texts(600, 2))]
        table.write_text("text,label\n" + "\n".join(rows) + "\n")
        book.write_text("\n".join(texts(100, 3)))
    common = ["--set", "epochs=1", "--set", "threads=1"]
    sizes = ["--set", "hidden=128", "--set", "embedding=128"]
    for name, data, more in (
        ("bilstm", table, ["--model", "bilstm", *sizes]),
        ("transformer", table, ["--model", "transformer", "--set", "hidden=128", "--set", "heads=4",
                                "--set", "layers=2"]),
        ("characters", book, ["--task", "generate", "--model", "lstm", *sizes,
                              "--set", "kind=char"]),
    ):  # fmt: skip
        if not (runs / name / "model.safetensors").exists():
            command = [
                sys.executable,
                "-m",
                "unspool",
                "train",
                str(data),
                "--out",
                str(runs / name),
            ]
            subprocess.run([*command, *common, *more], check=True, stdout=subprocess.DEVNULL)


def write_bodies(runs: Path) -> Path:
    path = runs / "bodies.jsonl"
    path.write_text("".join(json.dumps({"items": [t]}) + "\n" for t in texts(TEXTS, 4)))
    return path


# Servers


@contextmanager
def server(command: list[str], port: int, ready: str) -> Iterator[int]:
    """The process id of a server that answers."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    log = tempfile.TemporaryFile()  # noqa: SIM115
    with subprocess.Popen(
        command, env=env, stdout=log, stderr=log, start_new_session=True
    ) as process:
        try:
            end = time.monotonic() + 90
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}{ready}", timeout=5).read()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > end:
                        log.seek(0)
                        sys.exit(log.read().decode())
                    time.sleep(0.1)
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # those that a server has left


def unspool(*arguments: object) -> list[str]:
    return [
        sys.executable,
        "-m",
        "unspool",
        "serve",
        "--quiet",
        "--port",
        str(PORT),
        *map(str, arguments),
    ]


def processes(pid: int) -> list[int]:
    """A process and all that it has started."""
    tree = [pid]
    for each in tree:
        for file in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                tree += map(int, file.read_text().split())
            except OSError:
                continue
    return tree


def usage(pid: int) -> dict[str, float]:
    """CPU seconds, megabytes and open descriptors of a server."""
    cpu = memory = files = 0.0
    for each in processes(pid):
        try:
            values = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            cpu += (int(values[11]) + int(values[12])) / TICK
            memory += int(values[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            files += len(os.listdir(f"/proc/{each}/fd"))
        except OSError:
            continue
    return {"cpu": cpu, "mb": memory, "files": files}


def load(path: str, bodies: Path, *more: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / "load.py"), str(PORT), path, str(bodies), *map(str, more)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def loaded(path: str, bodies: Path, *more: object) -> dict[str, Any]:
    out, _ = load(path, bodies, *more).communicate()
    return json.loads(out)


# Measurements


def speed(options: argparse.Namespace, bodies: Path) -> None:
    words = options.runs / "vocabulary.json"
    words.write_text(json.dumps(vocabulary()))
    peers = str(HERE / "serve_peers.py")
    print(f"{'':26}{'connections':>12}{'requests/s':>12}{'CPU ms':>8}{'p50 ms':>8}{'p99 ms':>8}")
    for kind in ("bilstm", "transformer"):
        path, half = f"/v1/models/{kind}/predict", ["--precision", "bf16", "--max-loss", "0.05"]
        half += ["--validation", options.runs / "texts.csv"]
        servers = {
            "unspool": (unspool(options.runs / kind), path, "/readyz"),
            "unspool bf16": (unspool(options.runs / kind, *half), path, "/readyz"),
            "fastapi": (
                [sys.executable, peers, f"fastapi-{kind}", str(PORT), str(words)],
                "/predict",
                "/docs",
            ),
        }
        if options.peers:
            for most in (16, 64):
                command = [
                    options.peers,
                    peers,
                    f"litserve-{kind}",
                    str(PORT),
                    str(words),
                    str(most),
                ]
                servers[f"litserve {most}"] = (command, "/predict", "/health")
        for name, (command, path, ready) in servers.items():
            if options.only and not name.startswith(options.only):
                continue
            with server(command, PORT, ready) as pid:
                loaded(path, bodies, "--seconds", 1, "--connections", 8)
                for connections in options.connections:
                    before = usage(pid)["cpu"]
                    result = loaded(
                        path, bodies, "--connections", connections, "--seconds", options.seconds
                    )
                    cpu = usage(pid)["cpu"] - before
                    done = result["replies"].get("200", 0)
                    shown = result["ms"].get("200", {"p50": 0, "p99": 0})
                    other = {k: v for k, v in result["replies"].items() if k != "200"} or ""
                    print(
                        f"{kind:12}{name:14}{connections:12}{done / result['seconds']:12.0f}"
                        f"{1000 * cpu / max(done, 1):8.2f}"
                        f"{shown['p50']:8.1f}{shown['p99']:8.1f} {other}",
                        flush=True,
                    )  # fmt: skip


def completion(seed: int) -> bytes:
    body = {"prompt": "the ", "max_tokens": 256, "seed": seed, "stream": True}
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/v1/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    return urllib.request.urlopen(request, timeout=60).read()


def stream(options: argparse.Namespace, bodies: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with server(unspool(options.runs / "characters"), PORT, "/readyz") as pid:
        completion(0)
        rates = {}
        for clients, count in ((1, 8), (32, 96)):
            before, began = usage(pid)["cpu"], time.perf_counter()
            with ThreadPoolExecutor(clients) as pool:
                replies = list(pool.map(completion, range(count)))
            seconds = time.perf_counter() - began
            assert all(reply.endswith(b"data: [DONE]\n\n") for reply in replies)
            rates[clients] = count * 256 / seconds
            cpu = (usage(pid)["cpu"] - before) / (count * 256)
            print(
                f"{clients:3} clients: {rates[clients]:8.0f} tokens/s,"
                f" {1e6 * cpu:6.0f} µs of CPU a token"
            )
        print(f"ratio {rates[32] / rates[1]:.1f}")


def overload(options: argparse.Namespace, bodies: Path) -> None:
    path = "/v1/models/bilstm/predict"
    with server(unspool(options.runs / "bilstm"), PORT, "/readyz") as pid:
        result = loaded(path, bodies, "--connections", 64, "--seconds", 5)
        capacity = result["replies"]["200"] / result["seconds"]
        print(f"capacity {capacity:.0f} requests/s, p99 {result['ms']['200']['p99']} ms")
        before = usage(pid)
        running = load(
            path,
            bodies,
            "--connections",
            options.most,
            "--rate",
            5 * capacity,
            "--seconds",
            options.seconds,
        )
        most = before["mb"]
        while running.poll() is None:
            time.sleep(1)
            most = max(most, usage(pid)["mb"])
        print(running.stdout.read().strip() if running.stdout else "")
        after = usage(pid)
        print(f"MB before {before['mb']:.0f}, at most {most:.0f}; files {after['files']:.0f}")
        for second in range(6):
            result = loaded(path, bodies, "--connections", 1, "--seconds", 0.5)
            print(f"{second / 2:.1f} s after: {result['ms']['200']} ms, {result['replies']}")


def reload(options: argparse.Namespace, bodies: Path) -> None:
    """Two models that answer differently, and broken folders, in turns."""
    folder, good = options.runs / "changing", options.runs / "bilstm"
    rmtree(folder, ignore_errors=True)
    copytree(good, folder)
    with server([*unspool(folder), "--admin-port", str(PORT + 1)], PORT, "/readyz") as pid:
        seconds = options.seconds
        path = "/v1/models/changing/predict"
        running = load(path, bodies, "--connections", 64, "--seconds", seconds, "--rate", 50)
        done = refused = 0
        end = time.monotonic() + seconds - 5
        while done + refused < 50 and time.monotonic() < end:
            broken = (done + refused) % 2 == 1
            weights = folder / "model.safetensors"
            content = (good / "model.safetensors").read_bytes()
            weights.write_bytes(content[:1000] if broken else content)
            request = urllib.request.Request(
                f"http://127.0.0.1:{PORT + 1}/reload", b"", method="POST"
            )
            try:
                urllib.request.urlopen(request, timeout=60).read()
                done, failed = done + 1, False
            except urllib.error.HTTPError:
                refused, failed = refused + 1, True
            if failed is not broken:
                sys.exit(f"a broken folder: {broken}, refused: {failed}")
        out, _ = running.communicate()
        time.sleep(6)  # in which the last old process ends
        print(f"{done} reloads, {refused} refused; {len(processes(pid))} processes at the end")
        print(out.strip())


def stop(options: argparse.Namespace, bodies: Path) -> None:
    for number in range(20):
        with server(unspool(options.runs / "bilstm"), PORT, "/readyz") as pid:
            path = "/v1/models/bilstm/predict"
            running = load(path, bodies, "--connections", 32, "--seconds", 3)
            time.sleep(1.5)
            os.kill(pid, signal.SIGTERM)
            out, _ = running.communicate()
        print(number, out.strip(), flush=True)


def soak(options: argparse.Namespace, bodies: Path) -> None:
    with server(
        unspool(options.runs / "bilstm", options.runs / "characters"), PORT, "/readyz"
    ) as pid:
        seconds = 60 * options.minutes
        running = load(
            "/v1/models/bilstm/predict",
            bodies,
            "--connections",
            16,
            "--seconds",
            seconds,
            "--rate",
            200,
        )
        number = 0
        while running.poll() is None:
            completion(number := number + 1)
            if number % 100 == 1:
                print({k: round(v) for k, v in usage(pid).items()}, flush=True)
            time.sleep(0.5)
        print(running.stdout.read().strip() if running.stdout else "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = {each.__name__: each for each in (speed, stream, overload, reload, stop, soak)}
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--runs", type=Path, default=Path("runs/bench-serve"))
    parser.add_argument("--peers", help="an interpreter that has litserve")
    parser.add_argument("--only", help="speed: servers whose name begins with this")
    parser.add_argument("--connections", type=int, nargs="*", default=[1, 16, 64, 256])
    parser.add_argument("--most", type=int, default=1000, help="overload: open connections")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--minutes", type=float, default=20)
    options = parser.parse_args()
    options.seconds = options.seconds or {"speed": 5, "overload": 60, "reload": 240}.get(
        options.mode, 5
    )
    train(options.runs)
    modes[options.mode](options, write_bodies(options.runs))


if __name__ == "__main__":
    main()
