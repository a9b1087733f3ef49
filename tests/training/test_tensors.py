"""A tensor file is whole or it is refused."""

import pytest
import torch
from safetensors.torch import save_file

from unspool.training.tensors import DamagedFile, load_tensors, save_tensors


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"w": torch.randn(7, 5), "n": torch.tensor(3.0), "i": torch.arange(4)}
    save_tensors(path, tensors, {"step": 3, "loss": 0.1 + 0.2})
    return path


def test_round_trip(path) -> None:
    tensors, meta = load_tensors(path)
    assert meta == {"step": 3, "loss": 0.1 + 0.2}
    assert tensors["w"].shape == (7, 5)
    assert tensors["i"].tolist() == [0, 1, 2, 3]


def test_nothing_is_left_beside(path) -> None:
    assert [p.name for p in path.parent.iterdir()] == ["a.safetensors"]


def test_every_flipped_bit_is_noticed(path) -> None:
    whole = path.read_bytes()
    before, _ = load_tensors(path)
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            after, meta = load_tensors(path)
        except DamagedFile:
            continue
        # A header may hold white space that means nothing; then nothing may have changed.
        assert meta == {"step": 3, "loss": 0.1 + 0.2}
        assert all(torch.equal(before[k], after[k]) for k in before)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_cut_file_is_noticed(path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(DamagedFile):
        load_tensors(path)


def test_a_foreign_file_is_refused(tmp_path) -> None:
    save_file({"w": torch.zeros(2)}, tmp_path / "b.safetensors")
    with pytest.raises(DamagedFile, match="no checksum"):
        load_tensors(tmp_path / "b.safetensors")
    with pytest.raises(FileNotFoundError):
        load_tensors(tmp_path / "c.safetensors")
