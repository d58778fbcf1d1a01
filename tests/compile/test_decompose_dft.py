"""DFT and STFT run as native products, and are as precise as the transforms of the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array

DRAW = np.random.default_rng(9)
EPSILON = {"float": 4e-7, "double": 1e-14, "float16": 1e-3}  # of the largest number of a transform
LENGTHS = (1, 2, 3, 5, 8, 15, 16, 17, 31, 64, 65, 66, 96, 127, 128, 210, 512, 1000, 1024, 4096)


def assert_native_transform(text: str, *feeds: dict[str, Array], dtype: str = "float") -> None:
    model = parse_model(text, opset=24)
    reference = sx.Session(model, engine="reference")
    sessions = [sx.Session(model, engine="native", threads=threads) for threads in (1, 2)]
    assert sessions[0].stats.fallback_nodes == 0
    for feed in feeds:
        expected = np.asarray(reference.run(feed)["y"])
        first, second = (np.asarray(session.run(feed)["y"]) for session in sessions)
        assert first.dtype == expected.dtype and first.tobytes() == second.tobytes()
        top = np.abs(expected, dtype=np.float64).max(initial=1e-30)
        np.testing.assert_allclose(first, expected, 0, EPSILON[dtype] * top)
    assert not sessions[0].stats.bailouts


def dft_text(
    dims: str, attributes: str = "", length: int | None = None, axis: int | None = None, dtype: str = "float"
) -> str:
    constants = "".join(
        f"{name} = Constant <value = int64 {{{value}}}> () "
        for name, value in (("n", length), ("a", axis))
        if value is not None
    )
    operands = ["x", "n" if length is not None else "", "a" if axis is not None else ""]
    result = ",".join(f"R{i}" for i in range(len(dims.split(","))))
    call = f"DFT {f'<{attributes}>' if attributes else ''} ({', '.join(operands).rstrip(', ')})"
    return f"g ({dtype}[{dims}] x) => ({dtype}[{result}] y) {{ {constants} y = {call} }}"


def signal(*shape: int, dtype: str = "float") -> Array:
    return DRAW.standard_normal(shape).astype({"float": "f4", "double": "f8", "float16": "f2"}[dtype])


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
def test_lengths(length: int, parts: int, inverse: int) -> None:
    dtype = "double" if inverse else "float"
    text = dft_text(f"N,{length},{parts}", f"inverse = {inverse}", dtype=dtype)
    feeds = [{"x": signal(n, length, parts, dtype=dtype)} for n in (3, 1)]
    assert_native_transform(text, *feeds, dtype=dtype)


def test_whole_inverses_in_single_precision_have_the_errors_of_numpy() -> None:
    session = sx.Session(parse_model(dft_text("2,10,2", "inverse = 1")), engine="native")
    assert session.stats.fallback_nodes == 1


@pytest.mark.parametrize("length", [n for n in LENGTHS if n > 1])
def test_halves_of_spectra(length: int) -> None:
    assert_native_transform(dft_text(f"N,{length},1", "onesided = 1"), {"x": signal(2, length, 1)})
    bins = length // 2 + 1
    text = dft_text(f"N,{bins},2", "onesided = 1, inverse = 1", length)
    assert_native_transform(text, {"x": signal(2, bins, 2)})


@pytest.mark.parametrize("length", [1, 7, 30, 64, 130, 512])
@pytest.mark.parametrize("attributes", ["", "inverse = 1", "onesided = 1", "onesided = 1, inverse = 1"])
@pytest.mark.parametrize("size", [1, 31, 200])
def test_cropped_and_padded_signals(length: int, attributes: str, size: int) -> None:
    parts, dtype = (
        1 if attributes == "onesided = 1" else 2,
        "double" if attributes == "inverse = 1" else "float",
    )
    text = dft_text(f"2,{size},{parts}", attributes, length, dtype=dtype)
    assert_native_transform(text, {"x": signal(2, size, parts, dtype=dtype)}, dtype=dtype)


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -3])
@pytest.mark.parametrize("dims", ["12,20,66,2", "A,20,66,1"])
def test_axes(axis: int, dims: str) -> None:
    if dims.startswith("A") and axis == 0:
        dims = dims.replace("A", "12")
    parts = int(dims[-1])
    assert_native_transform(dft_text(dims, axis=axis), {"x": signal(12, 20, 66, parts)})


@pytest.mark.parametrize("dtype", ["double", "float16"])
@pytest.mark.parametrize("length", [16, 96, 1024])
def test_element_types(dtype: str, length: int) -> None:
    text = dft_text(f"N,{length},2", dtype=dtype)
    assert_native_transform(text, {"x": signal(3, length, 2, dtype=dtype)}, dtype=dtype)


def test_empty_batches() -> None:
    assert_native_transform(dft_text("N,96,2"), {"x": signal(0, 96, 2)}, {"x": signal(2, 96, 2)})


@pytest.mark.parametrize("length", [64, 400, 512, 1024, 4096, 65536])
def test_errors_are_those_of_fast_transforms(length: int) -> None:
    """Compared with float64, at most 1.1 times the error of NumPy's transform of float32, in the root mean square."""
    x = signal(2, length, 2)
    session = sx.Session(parse_model(dft_text(f"2,{length},2"), opset=24), engine="native")
    y = np.asarray(session.run({"x": x})["y"])
    exact = np.fft.fft(x[..., 0].astype(np.float64) + 1j * x[..., 1])
    fast = np.fft.fft(x[..., 0] + np.complex64(1j) * x[..., 1])
    error, other = (np.sqrt((np.abs(z - exact) ** 2).mean()) for z in (y[..., 0] + 1j * y[..., 1], fast))
    assert error <= 1.1 * other


def test_long_primes_and_open_lengths_are_left_to_the_reference_kernel() -> None:
    for text in (dft_text("N,1009,2"), dft_text("3,N,2")):
        assert sx.Session(parse_model(text, opset=24), engine="native").stats.fallback_nodes == 1


def test_a_fed_axis_and_length_are_native_from_the_second_run() -> None:
    text = "g (float[3,20,2] x, int64 n, int64 a) => (float[A,B,C] y) { y = DFT(x, n, a) }"
    session = sx.Session(parse_model(text, opset=24))
    x = signal(3, 20, 2)
    for _ in range(4):
        y = np.asarray(session.run({"x": x, "n": np.int64(16), "a": np.int64(1)})["y"])
    assert session.stats.specializations == 1
    expected = np.fft.fft(x[..., 0] + 1j * x[..., 1], 16, 1)
    np.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], expected, 1e-4, 1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("dims", ["N,100", "N,100,1", "2,100,2"])
@pytest.mark.parametrize(("step", "length"), [(8, 16), (1, 100), (33, 70), (7, 1), (200, 64)])
@pytest.mark.parametrize("window", [False, True])
def test_frames(dims: str, step: int, length: int, onesided: int, *, window: bool) -> None:
    is_complex = dims.endswith("2")
    constants = f"s = Constant <value = int64 {{{step}}}> () n = Constant <value = int64 {{{length}}}> ()"
    text = f"""g (float[{dims}] x{f", float[{length}] w" if window else ""}) => (float[A,B,C,D] y)
        {{ {constants} y = STFT <onesided = {0 if is_complex else onesided}> (x, s, {"w" if window else '""'}, n) }}"""
    feeds = {"x": signal(2, *(int(d) for d in dims.split(",")[1:]))}
    assert_native_transform(text, feeds | ({"w": signal(length)} if window else {}))
