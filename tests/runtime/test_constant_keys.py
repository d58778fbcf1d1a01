"""Keys of lazy constants: equal for the same packing of the same place of a file, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.compile.kernels.gemm.bf16.bf16_panels import make_bf16_panels
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import padded_words
from sardonyx._src.compile.kernels.gemm.packing.packing import make_lazy_panels
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import F2X3, F4X3
from sardonyx._src.compile.kernels.winograd.weight_transform import transform_weights
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.ir import Array
from sardonyx._src.runtime.identity import constant_keys
from sardonyx._src.runtime.identity.constant_keys import constant_key

SIZE = 4096
TILES = [make_tile(vectors, host_target()) for vectors in (1, 2)]


def map_floats(path: Path) -> Array:
    """The numbers of a file, as a map of their own."""
    with open(path, "rb") as file:
        owner = MappedFile.from_descriptor(file.fileno(), 4 * SIZE, str(path))
    return np.frombuffer(owner, np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.zeros(SIZE, np.float32).tofile(tmp_path / "weights")  # equal bytes everywhere: places tell them apart
    return tmp_path / "weights"


def variants(data: Array) -> dict[str, LazyConstant]:
    """Constants of which no two have the same key."""
    b, window = data[:1152].reshape(1, 24, 48), data[:288].reshape(8, 4, 3, 3)
    return {
        "panels": make_lazy_panels(b, TILES[0]),
        "wider panels": make_lazy_panels(b, TILES[1]),
        "another place": make_lazy_panels(data[1:1153].reshape(1, 24, 48), TILES[0]),
        "another shape": make_lazy_panels(data[:1152].reshape(1, 48, 24), TILES[0]),
        "other strides": make_lazy_panels(data[:1152].reshape(1, 48, 24).swapaxes(1, 2), TILES[0]),
        "another type": make_lazy_panels(b.view(np.int32), TILES[0]),
        "its own type": make_lazy_panels(b, TILES[0], keep_half=True),
        "bf16": make_bf16_panels(b, TILES[0], padded_words(24)),
        "winograd": transform_weights(window, TileTransforms(F4X3, F4X3), TILES[0]),
        "other points": transform_weights(window, TileTransforms(F4X3, F2X3), TILES[0]),
        "swapped points": transform_weights(window, TileTransforms(F2X3, F4X3), TILES[0]),
    }


def test_another_map_of_a_file_gives_the_same_keys_all_of_them_different(path: Path) -> None:
    first, second = (
        {name: constant_key(c, lambda owner: "model 0") for name, c in variants(map_floats(path)).items()}
        for _ in range(2)
    )
    assert first == second and None not in first.values()
    assert len(set(first.values())) == len(first)


def test_other_files_give_other_keys(path: Path) -> None:
    constant = variants(map_floats(path))["panels"]
    assert constant_key(constant, lambda owner: "model 0") != constant_key(constant, lambda owner: "model 1")


def test_arrays_in_no_file_are_told_apart_by_their_bytes(path: Path) -> None:
    data = map_floats(path)
    copies = [data.copy() for _ in range(3)]
    copies[2][5] = 1
    keys = [constant_key(variants(copy)["panels"], lambda owner: "") for copy in copies]
    assert keys[0] == keys[1] != keys[2] and None not in keys


def test_what_cannot_be_identified_has_no_key(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panels = variants(map_floats(path))["panels"]
    unknown = object()
    constant = LazyConstant((4, 4), 1, panels.source, lambda rows, first: rows.fill(hash(unknown)))
    assert constant_key(constant, lambda owner: "model 0") is None
    monkeypatch.setattr(constant_keys, "MAX_HASHED_BYTES", 100)
    assert constant_key(panels, lambda owner: "") is None
    assert constant_key(panels, lambda owner: "model 0") is not None
