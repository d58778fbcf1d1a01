"""Operators of callers with native kernels: functions that write a kernel, and C functions."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from sardonyx.plugins import KernelTensor, KernelWriter

pytestmark = pytest.mark.native
X = np.random.default_rng(0).standard_normal((37, 5)).astype(np.float32)
FLOATS = {"T": ["float", "double", "float16"]}
C_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_int64)] * 4, ctypes.c_int64, ctypes.c_int64)
ADDED: list[tuple[int, int]] = []  # the units of the calls of the C function


def write_swoosh(k: KernelWriter, x: KernelTensor, y: KernelTensor, *, alpha: float) -> None:
    with k.units() as i:
        value = k.cast(x[i], "float32")
        y[i] = value / (1 + k.exp(-(value * alpha)))


def write_row_sums(k: KernelWriter, x: KernelTensor, scale: KernelTensor | None, y: KernelTensor) -> None:
    columns = x.sizes[1]
    with k.units() as row:
        total = k.variable(0.0, "float64")
        with k.loop(row * columns, (row + 1) * columns) as i:
            total.value = total.value + k.cast(x[i], "float64")
        y[row] = k.cast(total.value, "float32") * (1.0 if scale is None else scale[row])


def add_number(inputs: Any, outputs: Any, sizes: Any, attributes: Any, first: int, last: int) -> None:
    """y[i] = x[i] + z[i] (0 where it is left out) + shift + times, of float32."""
    ADDED.append((first, last))
    floats = ctypes.POINTER(ctypes.c_float)
    x, y = ctypes.cast(inputs[0], floats), ctypes.cast(outputs[0], floats)
    z = ctypes.cast(inputs[1], floats) if inputs[1] else None
    assert (sizes[0], sizes[1], sizes[2]) == (2, 37, 5)
    times = attributes[0]
    shift = ctypes.cast(attributes, ctypes.POINTER(ctypes.c_double))[1]
    for i in range(first, last):
        y[i] = x[i] + (z[i] if z else 0) + shift + times


add_number_of_c = C_SIGNATURE(add_number)


@pytest.fixture(autouse=True)
def operators() -> None:
    """The operators of these tests, defined for each test anew."""

    @sx.operator(
        "test.native", types=FLOATS, inputs={"x": "T"}, outputs={"y": "T"}, infer="same", native=write_swoosh
    )
    def NativeSwoosh(x: Any, *, alpha: float = 1.5) -> Any:
        wide = x.astype(np.float32)
        return (wide / (1 + np.exp(-alpha * wide))).astype(x.dtype)

    @sx.operator(
        "test.native",
        types={"T": ["float"]},
        inputs={"x": "T", "scale": "T"},
        outputs={"y": "T"},
        infer=lambda x, scale=None: x and sx.ir.TensorType(x.dtype, x.shape[:1]),
        native=write_row_sums,
        units="elements",
    )
    def RowSums(x: Any, scale: Any = None) -> Any:
        sums = x.astype(np.float64).sum(axis=1).astype(np.float32)
        return sums if scale is None else sums * scale

    @sx.operator(
        "test.native",
        types={"T": ["float"]},
        inputs={"x": "T", "z": "T"},
        outputs={"y": "T"},
        infer="same",
        native=add_number_of_c,
    )
    def AddNumber(x: Any, z: Any = None, *, times: int = 2, shift: float = 0.25) -> Any:
        return (x + (0 if z is None else z) + np.float32(shift) + times).astype(np.float32)


def swoosh_model(dtype: str) -> sx.Model:
    b = sx.Builder(21)
    return b.model(y=b.domain("test.native").NativeSwoosh(b.input("x", dtype, ["N", 5]), alpha=2.0) * 2)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-6), ("float16", 2e-3)])
def test_a_written_kernel_runs_natively(dtype: str, tolerance: float) -> None:
    session = sx.Session(swoosh_model(dtype), engine="native", threads=2)
    for rows in (37, 1, 0):
        x = X[:rows].astype(dtype)
        wide = x.astype(np.float64)
        expected = 2 * wide / (1 + np.exp(-2.0 * wide))
        np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=tolerance, atol=tolerance)
    assert session.stats.fallback_nodes == 0


@pytest.mark.parametrize("scaled", [False, True])
def test_kernels_have_loops_variables_and_optional_inputs(scaled: bool) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", "M"])
    scale = [b.input("scale", "float32", ["N"])] if scaled else []
    session = sx.Session(b.model(y=b.domain("test.native").RowSums(x, *scale)), engine="native")
    assert session.stats.fallback_nodes == 0
    factors = np.arange(37, dtype=np.float32)
    y = session.run({"x": X, "scale": factors} if scaled else {"x": X})["y"]
    expected = X.astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(y, expected * factors if scaled else expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("both", [False, True])
def test_a_c_function_runs_natively(both: bool) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 5])
    y = b.domain("test.native").AddNumber(x, *([x] if both else []), times=3)
    session = sx.Session(b.model(y=y), engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    ADDED.clear()
    np.testing.assert_allclose(session.run({"x": X})["y"], X * (1 + both) + 3.25, rtol=1e-6)
    assert sorted(i for first, last in ADDED for i in range(first, last)) == list(range(X.size))


def test_a_mistake_in_a_kernel_is_an_error_of_the_compiler() -> None:
    def write(k: KernelWriter, x: KernelTensor, y: KernelTensor) -> None:
        with k.units() as i:
            y[i] = k.function("cube", x[i])

    @sx.operator(
        "test.native",
        inputs={"x": "tensor(float)"},
        outputs={"y": "tensor(float)"},
        infer="same",
        native=write,
    )
    def Cube(x: Any) -> Any:
        return x**3

    b = sx.Builder(21)
    model = b.model(y=b.domain("test.native").Cube(b.input("x", "float32", [37, 5])))
    with pytest.raises(sx.SardonyxError, match=r"a function must be one of .* got 'cube'"):
        sx.Session(model, engine="native")


def test_files_hold_written_kernels_and_no_c_functions(tmp_path: Path) -> None:
    sx.tools.compile(swoosh_model("float32"), tmp_path / "swoosh.sdx")
    code = f"""
import numpy as np, sardonyx as sx
y = sx.Session({str(tmp_path / "swoosh.sdx")!r}).run({{"x": np.ones((1, 5), np.float32)}})["y"]
print(y[0, 0] / 2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(float(done.stdout), 1 / (1 + np.exp(-2)), rtol=1e-6)
    b = sx.Builder(21)
    model = b.model(y=b.domain("test.native").AddNumber(b.input("x", "float32", ["N", 5])))
    with pytest.raises(sx.SardonyxError, match="calls a C function of this process, which no file can hold"):
        sx.tools.compile(model, tmp_path / "add.sdx")


def test_cached_programs_have_no_operators_of_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    data = sx.to_onnx(swoosh_model("float32")).SerializeToString()
    for _ in range(2):
        session = sx.Session(data, engine="native")
        session.run({"x": X})
        session.close()
    assert not list((tmp_path / "cache").rglob("*.sdx"))


@pytest.mark.parametrize("native", ["kernel", 1.5, 0, -1, 1 << 60, True])
def test_what_is_no_kernel_is_refused(native: object) -> None:
    with pytest.raises((TypeError, sx.InputError), match=r"native must|the address of a C function must"):
        sx.operator("test.native", native=native)(lambda x: x)


def test_a_c_function_takes_numbers_alone() -> None:
    with pytest.raises(
        sx.InputError, match="attributes of a C function must be numbers; mode of Named is STRING"
    ):

        @sx.operator("test.native", native=add_number_of_c)
        def Named(x: Any, *, mode: str = "a") -> Any:
            return x
