"""Messages are tested in the words of the command line, those of `unspool.check` in Python's."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from unspool.errors import as_flags


@pytest.fixture(autouse=True)
def _wording(request: pytest.FixtureRequest) -> Iterator[None]:
    with nullcontext() if request.path.parent.name == "check" else as_flags():
        yield
