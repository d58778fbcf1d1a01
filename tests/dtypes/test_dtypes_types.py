"""The element types against the numbers and names of the onnx package."""

from __future__ import annotations

import copy
import json
import pickle

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx.parser
import onnx.printer
import pytest

from sardonyx._src.dtypes import DataType

DEFINED = [dtype for dtype in DataType if dtype is not DataType.UNDEFINED]
BITS = {
    2: "UINT2 INT2",
    4: "UINT4 INT4 FLOAT4E2M1",
    6: "FLOAT6E2M3 FLOAT6E3M2",
    8: "UINT8 INT8 BOOL FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ FLOAT8E8M0",
    16: "UINT16 INT16 FLOAT16 BFLOAT16",
    32: "FLOAT INT32 UINT32",
    64: "DOUBLE INT64 UINT64 COMPLEX64",
    128: "COMPLEX128",
}


def names(claim: str) -> set[str]:
    """The names of the types for which an attribute is true."""
    return {dtype.name for dtype in DataType if getattr(dtype, claim)}


def test_numbers_are_those_of_tensorproto() -> None:
    assert {t.name: t.value for t in DataType} == dict(onnx.TensorProto.DataType.items())


def test_bits_count_the_stored_width() -> None:
    assert {t.name: t.bits for t in DEFINED if t is not DataType.STRING} == {
        name: bits for bits, group in BITS.items() for name in group.split()
    }


@pytest.mark.parametrize("dtype", [DataType.STRING, DataType.UNDEFINED])
def test_a_type_without_width_has_no_bits(dtype: DataType) -> None:
    with pytest.raises(ValueError, match=f"{dtype.name} has no fixed width"):
        _ = dtype.bits


@pytest.mark.parametrize("dtype", DEFINED, ids=lambda t: t.text)
def test_numpy_dtype_is_the_one_that_onnx_uses(dtype: DataType) -> None:
    assert dtype.numpy == onnx.helper.tensor_dtype_to_np_dtype(dtype.value)


def test_undefined_has_no_numpy_dtype() -> None:
    with pytest.raises(ValueError, match="UNDEFINED has no NumPy dtype"):
        _ = DataType.UNDEFINED.numpy


@pytest.mark.parametrize("dtype", DEFINED, ids=lambda t: t.text)
def test_text_is_what_the_onnx_printer_writes(dtype: DataType) -> None:
    x = onnx.helper.make_tensor_value_info("x", dtype.value, [1])
    text = onnx.printer.to_text(onnx.helper.make_graph([], "g", [x], []))
    assert f"({dtype.text}[1] x)" in text


@pytest.mark.parametrize("dtype", DEFINED, ids=lambda t: t.text)
def test_text_is_what_the_onnx_parser_reads(dtype: DataType) -> None:
    graph = onnx.parser.parse_graph(f"g ({dtype.text}[1] x) => () {{}}")
    assert graph.input[0].type.tensor_type.elem_type == dtype


def test_floats_are_the_real_floating_point_types() -> None:
    assert names("is_float") == {
        *("DOUBLE", "FLOAT", "FLOAT16", "BFLOAT16", "FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2"),
        *("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0"),
    }


def test_integers_leave_out_bool() -> None:
    unsigned = {"UINT2", "UINT4", "UINT8", "UINT16", "UINT32", "UINT64"}
    assert names("is_integer") == unsigned | {name[1:] for name in unsigned}


def test_complex_types_are_two() -> None:
    assert names("is_complex") == {"COMPLEX64", "COMPLEX128"}


@pytest.mark.parametrize("dtype", [t for t in DEFINED if t.is_float or t.is_integer], ids=lambda t: t.text)
def test_a_type_is_signed_if_minus_one_survives_a_cast(dtype: DataType) -> None:
    with np.errstate(invalid="ignore"):
        minus_one = np.array([-1.0], np.float32).astype(dtype.numpy).astype(np.float32)
    assert dtype.is_signed == (minus_one[0] == -1)


def test_of_the_rest_only_complex_types_are_signed() -> None:
    rest = {t.name for t in DataType if not (t.is_float or t.is_integer)}
    assert names("is_signed") & rest == {"COMPLEX64", "COMPLEX128"}


def test_ir_version_is_the_first_that_has_the_type() -> None:
    later = {t.name: t.ir_version for t in DataType if t.ir_version > 1}
    assert later == {
        "BFLOAT16": 4,
        **dict.fromkeys(["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"], 9),
        **dict.fromkeys(["UINT4", "INT4"], 10),
        "FLOAT4E2M1": 11,
        "FLOAT8E8M0": 12,
        **dict.fromkeys(["UINT2", "INT2"], 13),
        **dict.fromkeys(["FLOAT6E2M3", "FLOAT6E3M2"], 14),
    }


@pytest.mark.parametrize("dtype", DEFINED, ids=lambda t: t.text)
def test_of_inverts_numpy(dtype: DataType) -> None:
    assert DataType.of(dtype.numpy) is dtype


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.dtype(">f4"), DataType.FLOAT),
        (np.dtype(">i8"), DataType.INT64),
        (np.dtype(">c8"), DataType.COMPLEX64),
        (np.dtype("q"), DataType.INT64),
        (np.longlong, DataType.INT64),
        (np.float16, DataType.FLOAT16),
        (ml_dtypes.bfloat16, DataType.BFLOAT16),
        (bool, DataType.BOOL),
        (str, DataType.STRING),
        (object, DataType.STRING),
        (np.dtype("<U5"), DataType.STRING),
        (np.dtypes.StringDType(), DataType.STRING),
    ],
)
def test_of_accepts_every_kind_of_dtype(given: np.dtype[np.generic] | type, expected: DataType) -> None:
    assert DataType.of(given) is expected


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype("S3"),
        np.dtype("M8[s]"),
        np.dtype("V4"),
        np.dtype([("a", "f4")]),
        np.dtype(ml_dtypes.float8_e3m4),
    ],
    ids=str,
)
def test_of_names_a_dtype_that_onnx_lacks(dtype: np.dtype[np.generic]) -> None:
    with pytest.raises(TypeError) as caught:
        DataType.of(dtype)
    assert f"no element type for dtype {dtype};" in str(caught.value)


def test_none_is_not_taken_for_float64() -> None:
    with pytest.raises(TypeError, match="got None, which NumPy would take for float64"):
        DataType.of(None)  # type: ignore[arg-type]  # what a caller without type checks may do


@pytest.mark.parametrize("dtype", DataType, ids=lambda t: t.text)
def test_parse_inverts_text_and_name(dtype: DataType) -> None:
    assert DataType.parse(dtype.text) is dtype
    assert DataType.parse(dtype.name) is dtype


def test_parse_suggests_near_names() -> None:
    with pytest.raises(ValueError, match=r"no element type is named 'flaot'; did you mean 'float.*\?"):
        DataType.parse("flaot")


def test_parse_lists_all_names_when_none_is_near() -> None:
    with pytest.raises(ValueError, match=r"'qqq'; the names are float, uint8, .*float6e3m2$"):
        DataType.parse("qqq")


def test_members_survive_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(DataType.INT4)) is DataType.INT4
    assert copy.deepcopy(DataType.INT4) is DataType.INT4


def test_texts_are_names_and_formats_of_numbers_are_numbers() -> None:
    assert str(DataType.FLOAT) == f"{DataType.FLOAT}" == "FLOAT"
    assert f"{DataType.BOOL:>6}" == "  BOOL"
    assert f"{DataType.BOOL:d}" == f"{DataType.BOOL:3d}".strip() == "9"
    assert f"{DataType.FLOAT:.1f}" == "1.0"
    assert json.dumps([DataType.FLOAT]) == "[1]"
    assert repr(DataType.FLOAT) == "<DataType.FLOAT: 1>"
