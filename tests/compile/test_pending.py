"""Constants made later: whole or part by part they hold the same, however many rows a part has."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.compile import pending
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.pending import Pending, bytes_of
from sardonyx._src.compile.products.packing import panels_of
from sardonyx._src.compile.products.tiles import tile_of
from sardonyx._src.compile.products.winograd_form import FOUR, TWO
from sardonyx._src.compile.products.winograd_tiles import Forms
from sardonyx._src.compile.products.winograd_weights import transformed

F = np.float32
TILE = tile_of(1, host().lanes, host().registers)
DRAW = np.random.default_rng(0)
CONSTANTS = {
    "matrix": panels_of(DRAW.standard_normal((1, 33, 70), F), TILE),
    "stack": panels_of(DRAW.standard_normal((2, 3, 9, 5, 20), F), TILE),
    "columns": panels_of(DRAW.standard_normal((1, 70, 33), F).swapaxes(1, 2), TILE),
    "nothing": panels_of(np.empty((1, 4, 0), F), TILE),
    "winograd": transformed(DRAW.standard_normal((37, 5, 3, 3), F), Forms(FOUR, TWO), TILE),
}


@pytest.mark.parametrize("part", [1, 3000, 1 << 20])
@pytest.mark.parametrize("name", CONSTANTS)
def test_parts_in_a_row_are_the_whole(name: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    constant = CONSTANTS[name]
    whole = constant.made()
    monkeypatch.setattr(pending, "PART", part)
    assert whole.shape == constant.shape and whole.nbytes == constant.nbytes
    assert b"".join(bytes(one) for one in bytes_of(constant)) == whole.tobytes()
    assert constant.made().tobytes() == whole.tobytes()


def test_rows_are_made_in_memory_that_holds_anything() -> None:
    constant = CONSTANTS["stack"]
    rows = np.full((constant.count, *constant.row), np.nan, F)
    constant.fill(rows, 0)
    assert rows.tobytes() == constant.made().tobytes()


def test_arrays_are_their_own_bytes() -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4).swapaxes(0, 2)
    assert b"".join(bytes(one) for one in bytes_of(array)) == array.tobytes()
    assert isinstance(CONSTANTS["matrix"], Pending)
