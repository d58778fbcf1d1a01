"""Rows of numbers by piece: each lane has its own, however many lanes there are."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compile.vector_runs import Doubles, applied, loop
from sardonyx._src.compile.llvm.jit import load
from sardonyx._src.compile.math.function import Definitions, Function
from sardonyx._src.compile.math.gelu import LOWEST, PIECES, STEP
from sardonyx._src.compile.math.pieces import COUNT, of_pieces
from sardonyx._src.compile.text import Code, Value

ROWS = np.random.default_rng(3).integers(0, 64, (3, COUNT)).astype(np.float32)


def together(code: Code, x: Value) -> Value:
    """The numbers of three rows as digits of one, exactly, for the index in the last bits of a float."""
    first, second, third = of_pieces(code, "@rows", ROWS.tolist(), x.bits() & COUNT - 1)
    return first + second * 64 + third * 4096


@pytest.mark.parametrize("lanes", [1, 3, 4, 8, 16])
def test_every_lane_has_the_numbers_of_its_piece(lanes: int) -> None:
    definitions = Definitions(fused=False)
    function = Function("together", 1, together)
    definitions.need(function, lanes)
    library = load("\n".join((definitions.text(), loop(function, lanes))), ["run_together"])
    run = library.function("run_together", ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    bits = np.random.default_rng(4).integers(0, 1 << 32, 500, np.uint32)
    first, second, third = ROWS[:, bits % COUNT]
    assert np.array_equal(applied(run, lanes, bits.view(np.float32)), first + second * 64 + third * 4096)


def test_neighbouring_pieces_of_gelu_meet() -> None:
    starts = np.concatenate([2 + np.arange(8) / 4, 4 + np.arange(8) / 2])
    edges = (starts[1:] - 2) / STEP
    columns = np.array(PIECES, np.float32).astype(np.float64)
    apart = beyond_square(columns[:, :-1], edges) - beyond_square(columns[:, 1:], edges)
    assert np.abs(apart).max() < 2.0**-25  # twice the error that is stated for each
    assert STEP * -LOWEST + 2 < 8  # where pieces end


def beyond_square(columns: Doubles, a: Doubles) -> Doubles:
    """-2*log(Phi(-a)) - a*a by the polynomials in the columns, one for each number."""
    center, *coefficients = columns
    return np.asarray(sum(c * (a - center) ** power for power, c in enumerate(coefficients)))
