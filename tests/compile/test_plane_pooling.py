"""Pooling of dense planes: positions of maxima, one to three dims, every element type, open sizes, bounds of memory."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.reference_comparison import assert_close, normal
from models import parse_model
from sardonyx._src.ir import Array

DIMS = {1: "W", 2: "H,W", 3: "D,H,W"}
WINDOWS = {
    1: "kernel_shape = [3], strides = [2], pads = [1, 0]",
    2: "kernel_shape = [3, 2], strides = [2, 1], pads = [1, 1, 0, 1], dilations = [1, 2]",
    3: "kernel_shape = [2, 3, 2], strides = [1, 2, 2], pads = [0, 1, 1, 1, 1, 0], ceil_mode = 1",
}
TYPES = {"float": np.float32, "double": np.float64, "int8": np.int8, "uint8": np.uint8}


def assert_native(text: str, *feeds: Array) -> None:
    """Compares all outputs of both engines for each x, with one and with two threads."""
    model = parse_model(text, opset=28)
    reference = sx.Session(model, engine="reference")
    sessions = [sx.Session(model, engine="native", threads=threads) for threads in (1, 2)]
    assert sessions[0].stats.fallback_nodes == 0
    for x in feeds:
        expected = reference.run({"x": x})
        first, second = (session.run({"x": x}) for session in sessions)
        for name, value in expected.items():
            assert_close(np.asarray(first[name]), np.asarray(value))
            assert np.asarray(first[name]).tobytes() == np.asarray(second[name]).tobytes()
    assert not sessions[0].stats.bailouts


def random_tensor(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Few different numbers, so that windows have equal elements."""
    return (normal(*shape, seed=seed) * 3).round().clip(0).astype(TYPES[dtype])


@pytest.mark.parametrize("dtype", [*TYPES])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("order", [0, 1])
def test_indices_of_maxima(rank: int, dtype: str, order: int) -> None:
    dims = DIMS[rank]
    text = f"""g ({dtype}[N,2,{dims}] x) => ({dtype}[] y, int64[] i)
        {{ y, i = MaxPool <{WINDOWS[rank]}, storage_order = {order}> (x) }}"""
    shapes = [(2, 2, *(6, 7, 5)[:rank]), (1, 2, *(3, 4, 4)[:rank]), (0, 2, *(3, 4, 4)[:rank])]
    text = text.replace("[] ", f"[A,B,{','.join('PQR'[:rank])}] ")
    assert_native(text, *(random_tensor(dtype, *shape) for shape in shapes))


@pytest.mark.parametrize("outputs", ["y, i", "y", "_, i"])
def test_outputs_that_are_used(outputs: str) -> None:
    declared = "int64[1,3,2,3] i" if outputs == "_, i" else "float[1,3,2,3] y"
    text = f"g (float[1,3,4,6] x) => ({declared}) {{ {outputs} = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }}"
    assert_native(text, normal(1, 3, 4, 6))


@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_automatic_padding_of_open_sizes(pad: str) -> None:
    text = f"""g (float[1,C,H,W] x) => (float[A,B,D,E] y, int64[A,B,D,E] i)
        {{ y, i = MaxPool <kernel_shape = [3, 2], strides = [2, 2], auto_pad = "{pad}"> (x) }}"""
    assert_native(text, normal(1, 2, 7, 6), normal(1, 5, 8, 9))


def test_special_values_have_the_positions_of_the_reference() -> None:
    x: Array = np.array(
        [np.nan, -np.inf, 1, -np.inf, -np.inf, -np.inf, 2, np.nan, np.nan, 0, -0.0, 0], np.float32
    )
    text = """g (float[1,1,12] x) => (float[1,1,11] y, int64[1,1,11] i)
        { y, i = MaxPool <kernel_shape = [2]> (x) }"""
    assert_native(text, x.reshape(1, 1, 12))


def test_windows_of_padding_have_no_position() -> None:
    text = """g (float[1,1,3] x) => (float[1,1,N] y, int64[1,1,N] i)
        { y, i = MaxPool <kernel_shape = [2], strides = [4], pads = [4, 3], dilations = [2]> (x) }"""
    assert_native(text, normal(1, 1, 3))


@pytest.mark.parametrize("dtype", [*TYPES])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_maxima_of_other_types_and_ranks(rank: int, dtype: str) -> None:
    text = f"g ({dtype}[1,C,{DIMS[rank]}] x) => ({dtype}[A,B,{','.join('PQR'[:rank])}] y) {{ y = MaxPool <{WINDOWS[rank]}> (x) }}"
    assert_native(text, random_tensor(dtype, 1, 3, *(6, 7, 8)[:rank]))


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize(
    "node", ["AveragePool <", "AveragePool <count_include_pad = 1, ", "LpPool <p = 1, ", "LpPool <"]
)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_means_and_norms(rank: int, node: str, dtype: str) -> None:
    dims = ",".join("PQR"[:rank])
    text = f"g ({dtype}[1,C,{DIMS[rank]}] x) => ({dtype}[A,B,{dims}] y) {{ y = {node}{WINDOWS[rank]}> (x) }}"
    assert_native(text, normal(1, 3, *(6, 7, 8)[:rank]).astype(TYPES[dtype]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_indices(dtype: str) -> None:
    text = f"""g ({dtype}[1,2,6,6] x) => ({dtype}[1,2,3,3] y, int64[1,2,3,3] i)
        {{ y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }}"""
    assert_native(text, normal(1, 2, 6, 6).round(1).astype(sx.DataType[dtype.upper()].numpy))
