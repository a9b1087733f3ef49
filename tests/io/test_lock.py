"""A folder has one owner, whoever it is and however it ends."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unspool.errors import RunError
from unspool.io.lock import LOCK, owned, refuse_held

HOLD = """
import sys, time
from pathlib import Path
from unspool.io.lock import owned
with owned(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_folder_that_is_held(holder, tmp_path) -> None:
    says = rf"is held by process {holder.pid} on .+, since 20\d\d-\d\d-\d\d .*give another out="
    before = (tmp_path / LOCK).read_bytes()
    with pytest.raises(RunError, match=says), owned(tmp_path):
        pass
    with pytest.raises(RunError, match=says):
        refuse_held(tmp_path)
    assert (tmp_path / LOCK).read_bytes() == before


def test_a_dead_owner_is_followed(holder, tmp_path) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK).exists()
    refuse_held(tmp_path)
    with owned(tmp_path):
        assert f'"pid": {os.getpid()}' in (tmp_path / LOCK).read_text()
    assert os.listdir(tmp_path) == []


def test_two_threads_are_two_owners(tmp_path) -> None:
    says = f"process {os.getpid()} on"
    with owned(tmp_path), pytest.raises(RunError, match=says), owned(tmp_path):
        pass


def test_one_of_many_is_the_owner(tmp_path) -> None:
    """Each enters once all others have left: nobody is in with another."""
    inside, most, entered = [0], [0], [0]

    def enter() -> None:
        while entered[0] < 40:
            try:
                with owned(tmp_path):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    entered[0] += 1
                    inside[0] -= 1
            except RunError:
                continue

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_folder_that_was_removed_and_made_again_is_not_touched(tmp_path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with owned(folder):
        (folder / LOCK).unlink()
        folder.rmdir()
        folder.mkdir()
        (folder / LOCK).write_text("of another")
    assert (folder / LOCK).read_text() == "of another"


def test_a_pipe_in_its_place(tmp_path) -> None:
    os.mkfifo(tmp_path / LOCK)
    with pytest.raises(RunError, match="not a regular file but a pipe"), owned(tmp_path):
        pass


def test_without_locks_of_the_file_system(holder, tmp_path, monkeypatch) -> None:
    """Where there are none, the process that the file names decides."""

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(RunError, match=f"is held by process {holder.pid}"), owned(tmp_path):
        pass
    holder.kill()
    holder.wait()
    with owned(tmp_path):
        pass
    (tmp_path / LOCK).write_text('{"pid": 1, "host": "elsewhere", "since": "then"}')
    with pytest.raises(RunError, match="process 1 on elsewhere, since then"), owned(Path(tmp_path)):
        pass
