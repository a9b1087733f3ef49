"""Requests made by schemathesis from the OpenAPI document of a server: no 5xx, no status and no
reply that the document does not have.

    python tests/serve/schema_cases.py RUN... [--cases 10000]      a server for these runs
    python tests/serve/schema_cases.py --port N [--cases 300]      one that runs

The last line has the number of cases and of failures, as JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

PORT = 8799
schemathesis.checks.load_all_checks()
CHECKS = schemathesis.checks.CHECKS.get_by_names(
    ["not_a_server_error", "status_code_conformance", "content_type_conformance",
     "response_schema_conformance"]
)  # fmt: skip


def check(port: int, count: int) -> Counter[str]:
    """Failures and cases of all routes of a server."""
    address = f"http://127.0.0.1:{port}"
    with urllib.request.urlopen(f"{address}/openapi.json") as reply:
        document = json.load(reply)
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=address)
    routes = [route.ok() for route in schema.get_all_operations()]
    posts = [route for route in routes if route.method.upper() == "POST"]
    each = -(-count // len(posts))
    figures: Counter[str] = Counter()
    for route in routes:
        failures: set[str] = set()

        @settings(
            max_examples=each if route in posts else 5, deadline=None, database=None,
            derandomize=True, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=route.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
               | route.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
               if route in posts else route.as_strategy())  # fmt: skip
        def test(case: schemathesis.Case) -> None:
            reply = case.call(timeout=60)
            figures["cases"] += 1
            figures[f"status {reply.status_code}"] += 1
            try:
                case.validate_response(reply, checks=CHECKS)
            except Exception as error:
                line = f"{route.label}: {error}"  # noqa: B023
                if line not in failures:  # noqa: B023
                    failures.add(line)  # noqa: B023
                    print(line[:2000], file=sys.stderr)

        test()
        figures["failures"] += len(failures)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10_000)
    options = parser.parse_args()
    if options.port:
        figures = check(options.port, options.cases)
    else:
        figures = Counter()
        for run in options.runs:  # one at a time: a process of each is enough
            figures += served(run, -(-options.cases // len(options.runs)))
    print(json.dumps(dict(sorted(figures.items())) | {"failures": figures["failures"]}))
    sys.exit(1 if figures["failures"] else 0)


def served(run: str, count: int) -> Counter[str]:
    command = [sys.executable, "-m", "unspool", "serve", run, "--port", str(PORT), "--quiet"]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stderr=log) as process:
        end = time.monotonic() + 90
        while not ready():
            assert process.poll() is None, run
            assert time.monotonic() < end, run
            time.sleep(0.2)
        try:
            return check(PORT, count)
        finally:
            process.terminate()
            process.wait(60)
            log.seek(0)
            print(re.sub(r"\n+", "\n", log.read().decode())[-300:], file=sys.stderr)


def ready() -> bool:
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=5).status == 200
    except OSError:
        return False


if __name__ == "__main__":
    main()
