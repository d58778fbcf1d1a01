"""Every operator of onnxruntime's CPU provider runs: com.microsoft, and names of its own in ai.onnx."""

from __future__ import annotations

import io
from typing import Literal

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import exact

onnxruntime = pytest.importorskip("onnxruntime")
from onnxruntime.capi import onnxruntime_pybind11_state as native  # noqa: E402

COPIES_BETWEEN_DEVICES = {("", "MemcpyFromHost"), ("", "MemcpyToHost")}  # onnxruntime inserts them in memory
LAYOUT_DOMAIN = "com.microsoft.nchwc"  # blocked layouts of one machine


def provider_operators() -> list[tuple[str, str]]:
    """Domain and name of every operator that the CPU provider has a kernel for."""
    kernels = {(k.domain, k.op_name) for k in native.get_all_opkernel_def()}
    return sorted(key for key in kernels - COPIES_BETWEEN_DEVICES if key[0] != LAYOUT_DOMAIN)


def test_every_operator_has_a_kernel_or_a_body() -> None:
    operators = {key: find(*key) for key in provider_operators()}
    assert sum(domain == "com.microsoft" for domain, _ in operators) > 80
    assert [key for key, op in operators.items() if op is None or not (op.kernels or op.bodies)] == []


def test_signatures_have_the_types_that_onnxruntime_accepts() -> None:
    schemas = {s.name: s for s in native.get_all_operator_schema() if s.domain == "com.microsoft"}
    for name in (name for domain, name in provider_operators() if domain == "com.microsoft"):
        ours = exact("com.microsoft", name, 1)
        assert ours is not None, name
        theirs = {c.type_param_str: set(c.allowed_type_strs) for c in schemas[name].type_constraints}
        assert {key: set(map(str, types)) for key, types in ours.type_constraints.items()} == theirs, name


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_product_of_a_sparse_and_a_dense_matrix(
    transposed: bool, engine: Literal["reference", "native"]
) -> None:
    attributes = "<alpha = 0.5, transA = 1, transB = 1>" if transposed else ""
    shape = (4, 4)  # onnxruntime's inference ignores transA and transB
    call = f"y = com.microsoft.SparseToDenseMatMul {attributes} (a, b)"
    text = f"g (sparse_tensor(float[4,4]) a, float[4,4] b) => (float[4,4] y) {{ {call} }}"
    model = parse_model(text, more='"com.microsoft": 1')
    places = np.array([[0, 1], [1, 2], [2, 0]], np.int64)
    values = np.array([1.5, -2, 3], np.float32)
    dense = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    cpu = onnxruntime.OrtDevice.make("cpu", 0)
    sparse = onnxruntime.SparseTensor.sparse_coo_from_numpy(shape, values, places.reshape(-1), cpu)
    stream = io.BytesIO()
    sx.save(model, stream)
    judge = onnxruntime.InferenceSession(stream.getvalue(), providers=["CPUExecutionProvider"])
    feeds = {"a": onnxruntime.OrtValue.ort_value_from_sparse_tensor(sparse), "b": dense}
    (expected,) = judge.run(None, feeds)
    ours = sx.SparseTensor(sx.Tensor.of(values), sx.Tensor.of(places), shape)
    result = sx.Session(model, engine=engine).run({"a": ours, "b": dense})["y"]
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, expected, 1e-6)
