"""Piecewise polynomials: each lane selects the coefficients of its own piece, with any number of lanes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compile.vector_runs import Doubles, apply_loop, loop
from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.function import VectorFunction, VectorFunctionDefinitions
from sardonyx._src.compile.codegen.math.gelu import LOG_CDF_PIECES, LOWEST, PIECE_SCALE
from sardonyx._src.compile.codegen.math.piecewise import NUM_PIECES, select_pieces
from sardonyx._src.compile.llvm.jit import load

ROWS = np.random.default_rng(3).integers(0, 64, (3, NUM_PIECES)).astype(np.float32)


def together(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The entries of three rows as digits of one number, exactly; the index is in the low bits of a float."""
    first, second, third = select_pieces(builder, "@rows", ROWS.tolist(), x.bitcast() & NUM_PIECES - 1)
    return first + second * 64 + third * 4096


@pytest.mark.parametrize("lanes", [1, 3, 4, 8, 16])
def test_each_lane_selects_the_row_of_its_piece(lanes: int) -> None:
    definitions = VectorFunctionDefinitions(has_fma=False)
    function = VectorFunction("together", 1, together)
    definitions.require(function, lanes)
    library = load("\n".join((definitions.text(), loop(function, lanes))), ["run_together"])
    run = library.function("run_together", ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    bits = np.random.default_rng(4).integers(0, 1 << 32, 500, np.uint32)
    first, second, third = ROWS[:, bits % NUM_PIECES]
    assert np.array_equal(apply_loop(run, lanes, bits.view(np.float32)), first + second * 64 + third * 4096)


def test_pieces_of_gelu_are_continuous() -> None:
    starts = np.concatenate([2 + np.arange(8) / 4, 4 + np.arange(8) / 2])
    edges = (starts[1:] - 2) / PIECE_SCALE
    columns = np.array(LOG_CDF_PIECES, np.float32).astype(np.float64)
    apart = beyond_square(columns[:, :-1], edges) - beyond_square(columns[:, 1:], edges)
    assert np.abs(apart).max() < 2.0**-25  # twice the error bound of each piece
    assert PIECE_SCALE * -LOWEST + 2 < 8  # where pieces end


def beyond_square(columns: Doubles, a: Doubles) -> Doubles:
    """-2*log(Phi(-a)) - a*a by the polynomials in the columns, one for each element."""
    center, *coefficients = columns
    return np.asarray(sum(c * (a - center) ** power for power, c in enumerate(coefficients)))
