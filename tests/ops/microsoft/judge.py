"""Comparison of operators of com.microsoft with onnxruntime, the runtime that defines them.

Random inputs are seeded by the test that draws them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

import sardonyx as sx
from cases import Case, assert_elements_equal, model_of
from sardonyx._src.convert.conversion import convert
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model, Tensor, TensorType
from sardonyx._src.ir.walk import nodes

onnxruntime = pytest.importorskip("onnxruntime")

DOMAIN = "com.microsoft"


@dataclass(frozen=True)
class VendorCase:
    """One call of an operator of com.microsoft, or with domain "" of one that onnxruntime puts into ai.onnx.

    outputs: how many outputs are requested.  rtol, atol: the tolerance of floats; of integers, `off_by` is the largest
    difference, for results that are rounded from floats.  standard: whether the operator has a body of standard operators.
    unwritten: outputs that onnxruntime's kernel leaves as they are.  entries: those along axis 2 of outputs of rank 4 that the
    operator defines; None for all.
    """

    op: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, object] = field(default_factory=dict)
    outputs: int = 1
    rtol: float = 1e-4
    atol: float = 1e-5
    off_by: int = 0
    domain: str = DOMAIN
    standard: bool = True
    unwritten: tuple[int, ...] = ()
    entries: int | None = None
    label: str = ""

    def __str__(self) -> str:
        return f"{self.op} {self.label}".strip()


def vendor_model(case: VendorCase) -> Model:
    """A model of the one node, with the types and sizes of the inputs."""
    call = Case(case.op, 1, case.inputs, [...] * case.outputs, case.attributes, domain=case.domain)
    model = model_of(call)
    model.opset_imports[""] = 21
    for value, array in zip(list(model.graph.inputs), feeds_of(case).values(), strict=True):
        if array.dtype.kind == "V":  # onnxruntime takes no such feed
            model.graph.remove_input(value)
            value.initializer = Tensor.of(array)
            model.graph.add_initializer(value)
    return model


def feeds_of(case: VendorCase) -> dict[str, Array]:
    return {f"x{i}": value for i, value in enumerate(case.inputs) if value is not None}


def numeric_feeds(case: VendorCase) -> dict[str, Array]:
    """The feeds of the model, of which arrays of 4-bit elements are constants."""
    return {name: value for name, value in feeds_of(case).items() if value.dtype.kind != "V"}


def run_onnxruntime(model: Model, feeds: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    data = io.BytesIO()
    sx.save(typed(model), data)
    session = onnxruntime.InferenceSession(data.getvalue(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def typed(model: Model) -> Model:
    """The model with inferred types of its outputs, which onnxruntime requires."""
    infer(model)
    return model


def assert_agrees(case: VendorCase) -> None:
    """Asserts that inference, both engines and the standard operators of a case agree with onnxruntime."""
    feeds = numeric_feeds(case)
    expected = run_onnxruntime(vendor_model(case), feeds)
    model = typed(vendor_model(case))
    assert_results(case, list(Interpreter(model).run(feeds).values()), expected, "reference engine")
    for value, result in zip(model.graph.outputs, expected, strict=True):
        assert_type(value.type, result, f"{case}: inferred type of {value.name}")
    if case.standard:
        standard = convert(vendor_model(case), sets={DOMAIN: 0})
        assert {node.domain for node in nodes(standard.graph)} == {""}, f"{case}: standard operators"
        assert_results(case, run_onnxruntime(standard, feeds), expected, "standard operators")


def run(case: VendorCase) -> Array:
    """The first result of the reference engine."""
    feeds = numeric_feeds(case)
    result = next(iter(Interpreter(typed(vendor_model(case))).run(feeds).values()))
    assert isinstance(result, np.ndarray)
    return result


def assert_native_agrees(case: VendorCase) -> sx.Session:
    """Asserts that the native engine computes what onnxruntime does; returns its session."""
    feeds = numeric_feeds(case)
    expected = run_onnxruntime(vendor_model(case), feeds)
    session = sx.Session(vendor_model(case), engine="native")
    assert_results(case, list(session.run(feeds).values()), expected, "native engine")
    return session


def assert_results(case: VendorCase, actual: Sequence[object], expected: Sequence[Array], where: str) -> None:
    for i, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
        place = f"{case}: {where}, output {i}"
        if i in case.unwritten:
            continue
        assert isinstance(mine, np.ndarray), place
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), place
        if mine.ndim == 4:
            mine, theirs = mine[:, :, : case.entries], theirs[:, :, : case.entries]
        if mine.dtype.kind in "iu":
            difference = np.abs(mine.astype(np.int64) - theirs.astype(np.int64))
            assert difference.max(initial=0) <= case.off_by, f"{place}:\n{mine}\nis not\n{theirs}"
        elif mine.dtype.kind == "f":
            wide = np.float64
            np.testing.assert_allclose(
                mine.astype(wide), theirs.astype(wide), case.rtol, case.atol, err_msg=place
            )
        else:
            assert_elements_equal(mine, theirs, exact=True, where=place)


def assert_type(type_: object, result: Array, where: str) -> None:
    assert isinstance(type_, TensorType), where
    assert type_.dtype.numpy == result.dtype, where
    if type_.shape is not None:
        assert len(type_.shape) == result.ndim, where
        sizes = zip(type_.shape, result.shape, strict=True)
        assert all(not isinstance(dim, int) or dim == size for dim, size in sizes), where
