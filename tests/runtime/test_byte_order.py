"""Arrays in the byte order that the machine does not have: converted wherever they are given."""

import io
import sys
from typing import Literal

import numpy as np
import pytest

import sardonyx as sx
from sardonyx.compat import onnxruntime as ort
from sardonyx.errors import InputError, OutputError

OTHER = ">" if sys.byteorder == "little" else "<"
TEXT = """<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, int64[2] i) => (float[2] y, int64[2] j) {
  y = Neg(x)  j = Add(i, i) }"""
X, COUNTS = np.array([1, 2], OTHER + "f4"), np.array([3, 4], OTHER + "i8")
ENGINES: tuple[Literal["reference", "native"], ...] = ("reference", "native")


@pytest.mark.parametrize("engine", ENGINES)
def test_feeds_are_converted_at_first_and_between_native_ones(engine: Literal["reference", "native"]) -> None:
    session = sx.Session(sx.from_text(TEXT), engine=engine)
    native = {"x": X.astype("=f4"), "i": COUNTS.astype("=i8")}
    strided = np.array([1, 9, 2, 9], OTHER + "f4")[::2]
    for feeds in (
        {"x": X, "i": COUNTS},
        native,
        native,
        native,
        {"x": X, "i": COUNTS},
        {"x": strided, "i": COUNTS},
        native,
    ):
        results = session.run(feeds)
        assert results["y"].tolist() == [-1, -2]
        assert results["j"].tolist() == [6, 8]
        assert all(array.dtype.isnative for array in results.values())


@pytest.mark.parametrize("dtype", ["f2", "f8", "i2", "u2", "i4", "u4", "u8", "c8", "c16"])
def test_element_types_of_several_bytes(dtype: str) -> None:
    name = sx.DataType.of(np.dtype(dtype)).text
    model = sx.from_text(
        f'<ir_version: 10, opset_import: ["" : 21]> g ({name}[2] x) => ({name}[2] y) {{ y = Identity(x) }}'
    )
    fed = np.array([1, 2], OTHER + dtype)
    for engine in ENGINES:
        assert sx.Session(model, engine=engine).run({"x": fed})["y"].tolist() == [1, 2]


def test_another_element_type_is_refused_as_before() -> None:
    with pytest.raises(InputError, match="input 'x' must be float; got float64"):
        sx.Session(sx.from_text(TEXT)).run({"x": X.astype(OTHER + "f8"), "i": COUNTS})


def test_elements_of_sequences() -> None:
    model = sx.from_text("""<ir_version: 10, opset_import: ["" : 21]> g (seq(float[2]) x) => (float[4] y) {
      y = ConcatFromSequence<axis = 0>(x) }""")
    for engine in ENGINES:
        assert sx.Session(model, engine=engine).run({"x": [X, X]})["y"].tolist() == [1, 2, 1, 2]


def test_arrays_for_outputs_must_have_the_order_of_the_machine() -> None:
    with pytest.raises(OutputError, match=r"out\['y'\] must be float32\[2\]"):
        sx.Session(sx.from_text(TEXT)).run({"x": X, "i": COUNTS}, out={"y": np.zeros(2, OTHER + "f4")})


def test_tensors_and_constants_of_the_builder() -> None:
    assert sx.ir.Tensor.of(X).numpy().tolist() == [1, 2]
    b = sx.Builder(21)
    x = b.input("x", sx.DataType.FLOAT, [2])
    b.output(b.Add(b.Gather(x, np.array([1, 0], OTHER + "i8")), b.Add(X, b.Constant(value=X))), "y")
    saved = io.BytesIO()
    sx.save(b.model(), saved)
    for engine in ENGINES:
        assert sx.Session(saved.getvalue(), engine=engine).run({"x": X})["y"].tolist() == [4, 5]


def test_the_interface_of_onnxruntime() -> None:
    saved = io.BytesIO()
    sx.save(sx.from_text(TEXT), saved)
    session = ort.InferenceSession(saved.getvalue())
    assert session.run(["y"], {"x": X, "i": COUNTS})[0].tolist() == [-1, -2]
