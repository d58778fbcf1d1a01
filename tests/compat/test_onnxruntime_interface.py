"""The interface of onnxruntime: the same calls on both packages have the same results, errors and descriptions."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import pytest

import sardonyx as sx
import sardonyx.compat.onnxruntime as ours
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import has_bf16_products
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.runtime.programs import precision

MODULES = pytest.mark.parametrize("ort", [onnxruntime, ours], ids=["onnxruntime", "sardonyx"])
MODEL = """
<ir_version: 8, opset_import: ["": 17], producer_name: "maker", model_version: 7, domain: "test.models",
 doc_string: "a test", metadata_props: ["key": "value"]>
affine (float[N,3] x, int64[?] k) => (float[N,3] y, int64[?] z)
<float[3] w = {1, 2, 3}>
{ t = Mul(x, w)  y = Relu(t)  z = Add(k, k) }
"""
TYPES = """
<ir_version: 8, opset_import: ["": 17]>
typed (float[batch,?,3] a, string[?] s, bool b, float[] r) => (seq(float) q, string[?] u, bool c, float[] v)
{ q = SequenceConstruct(a)  u = Identity(s)  c = Not(b)  v = Neg(r) }
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
K = np.array([4, 5], np.int64)


def write_model(folder: Path, text: str) -> str:
    path = folder / "m.onnx"
    sx.save(sx.from_text(text), path)
    return str(path)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write_model(tmp_path, MODEL)


@MODULES
def test_runs_return_lists_in_the_requested_order(ort: ModuleType, path: str) -> None:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {"x": X, "k": K}
    for names in (None, ["y", "z"], ["z"], ["z", "y"], []):
        results = session.run(names, feeds)
        expected = {"y": np.maximum(X * [1, 2, 3], 0), "z": K * 2}
        assert len(results) == len(names or expected)
        for name, result in zip(names or expected, results, strict=True):
            np.testing.assert_array_equal(result, expected[name])


@MODULES
def test_models_come_from_paths_bytes_and_path_objects(ort: ModuleType, path: str) -> None:
    for source in (path, Path(path), Path(path).read_bytes()):
        assert len(ort.InferenceSession(source).run(["z"], {"x": X, "k": K})) == 1
    with pytest.raises(TypeError):
        ort.InferenceSession(5)


@MODULES
def test_inputs_and_outputs_are_described(ort: ModuleType, path: str, tmp_path: Path) -> None:
    session = ort.InferenceSession(path)
    described = [(arg.name, arg.type, arg.shape) for arg in (*session.get_inputs(), *session.get_outputs())]
    assert described == [
        ("x", "tensor(float)", ["N", 3]),
        ("k", "tensor(int64)", [None]),
        ("y", "tensor(float)", ["N", 3]),
        ("z", "tensor(int64)", [None]),
    ]
    session = ort.InferenceSession(write_model(tmp_path, TYPES))
    described = [(arg.name, arg.type, arg.shape) for arg in (*session.get_inputs(), *session.get_outputs())]
    assert described == [
        ("a", "tensor(float)", ["batch", None, 3]),
        ("s", "tensor(string)", [None]),
        ("b", "tensor(bool)", []),
        ("r", "tensor(float)", []),
        ("q", "seq(tensor(float))", []),
        ("u", "tensor(string)", [None]),
        ("c", "tensor(bool)", []),
        ("v", "tensor(float)", []),
    ]


@MODULES
def test_metadata(ort: ModuleType, path: str) -> None:
    meta = ort.InferenceSession(path).get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain) == ("maker", "affine", "test.models")
    assert (meta.description, meta.graph_description, meta.version) == ("a test", "", 7)
    assert meta.custom_metadata_map == {"key": "value"}


BAD_FEEDS: dict[str, tuple[dict[str, object], str]] = {
    "wrong element type": ({"x": X.astype(np.float64), "k": K}, "InvalidArgument"),
    "wrong rank": ({"x": X[0], "k": K}, "InvalidArgument"),
    "wrong size": ({"x": X[:, :2], "k": K}, "InvalidArgument"),
    "unknown name": ({"x": X, "k": K, "q": X}, "InvalidArgument"),
    "missing": ({"x": X}, "ValueError"),
    "none at all": ({}, "ValueError"),
}


@MODULES
@pytest.mark.parametrize("name", BAD_FEEDS)
def test_bad_feeds_raise_the_same_class(ort: ModuleType, path: str, name: str) -> None:
    feeds, kind = BAD_FEEDS[name]
    session = ort.InferenceSession(path)
    with pytest.raises(Exception, match=r"\w") as caught:
        session.run(None, feeds)
    assert type(caught.value).__name__ == kind


@MODULES
def test_bad_models_and_names_raise_the_same_class(ort: ModuleType, path: str, tmp_path: Path) -> None:
    state = ort.capi.onnxruntime_pybind11_state
    with pytest.raises(state.NoSuchFile):
        ort.InferenceSession(str(tmp_path / "missing.onnx"))
    with pytest.raises(state.InvalidProtobuf):
        ort.InferenceSession(b"no model at all")
    with pytest.raises(state.InvalidArgument):
        ort.InferenceSession(path).run(["nothing"], {"x": X, "k": K})
    assert not issubclass(state.InvalidArgument, (ValueError, RuntimeError))


@MODULES
@pytest.mark.filterwarnings("ignore::sardonyx.errors.ShapeWarning")
def test_a_dimension_variable_may_have_two_lengths(ort: ModuleType, tmp_path: Path) -> None:
    """As in the decoders that Optimum merges, whose first run has an empty cache; numbers are compared."""
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[N] a, float[N,2] b) => (float[?] y, float[?] z) { y = Neg(a)  z = ReduceSum(b) }"""
    session = ort.InferenceSession(write_model(tmp_path, text))
    y, z = session.run(None, {"a": np.ones(3, np.float32), "b": np.ones((0, 2), np.float32)})
    assert (y.tolist(), z.tolist()) == ([-1, -1, -1], [[0]])
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument):
        session.run(None, {"a": np.ones(3, np.float32), "b": np.ones((3, 1), np.float32)})


@MODULES
def test_lists_and_ort_values_are_feeds(ort: ModuleType, path: str) -> None:
    session = ort.InferenceSession(path)
    (z,) = session.run(["z"], {"x": X.tolist(), "k": [4, 5]})
    np.testing.assert_array_equal(z, K * 2)
    values = {"x": ort.OrtValue.ortvalue_from_numpy(X), "k": ort.OrtValue.ortvalue_from_numpy(K)}
    results = session.run_with_ort_values(["z", "y"], values)
    np.testing.assert_array_equal(results[0].numpy(), K * 2)
    assert results[1].shape() == [2, 3]


@MODULES
def test_ort_values(ort: ModuleType) -> None:
    array = np.zeros((2, 3), np.float32)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert (value.data_type(), value.element_type(), value.shape()) == ("tensor(float)", 1, [2, 3])
    assert (value.device_name(), value.is_tensor(), value.has_value()) == ("cpu", True, True)
    assert (value.is_sparse_tensor(), value.is_tensor_sequence()) == (False, False)
    assert value.tensor_size_in_bytes() == array.nbytes
    assert value.data_ptr() == array.ctypes.data
    value.update_inplace(np.ones((2, 3), np.float32))
    assert array.tolist() == [[1, 1, 1], [1, 1, 1]]
    empty = ort.OrtValue.ortvalue_from_shape_and_type([4], np.int64, "cpu", 0)
    assert empty.numpy().shape == (4,)
    assert np.from_dlpack(value).tolist() == array.tolist()


@MODULES
def test_bindings(ort: ModuleType, path: str) -> None:
    session = ort.InferenceSession(path)
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_input("k", "cpu", 0, np.int64, K.shape, K.ctypes.data)
    buffer, owned = np.empty((2, 3), np.float32), np.empty(2, np.int64)
    binding.bind_output("y", "cpu", 0, np.float32, buffer.shape, buffer.ctypes.data)
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_numpy(owned))
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(buffer, np.maximum(X * [1, 2, 3], 0))
    np.testing.assert_array_equal(owned, K * 2)
    binding.clear_binding_outputs()
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], K * 2)
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), K * 2)


@MODULES
def test_session_options_have_types(ort: ModuleType) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises(RuntimeError, match="configuration"):
        options.get_session_config_entry("nothing")
    with pytest.raises(TypeError):
        options.intra_op_num_threads = "many"
    with pytest.raises(AttributeError):
        options.number_of_threads = 3


def test_every_attribute_of_the_options_has_the_same_default() -> None:
    for name in ("SessionOptions", "RunOptions"):
        theirs, mine = getattr(onnxruntime, name)(), getattr(ours, name)()
        for attribute in dir(theirs):
            value = getattr(theirs, attribute)
            if attribute.startswith("_") or callable(value):
                continue
            own = getattr(mine, attribute)
            assert getattr(own, "name", own) == getattr(value, "name", value), attribute


@MODULES
def test_dimensions_are_overridden(ort: ModuleType, path: str) -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 2)
    options.add_free_dimension_override_by_name("unknown", 2)
    session = ort.InferenceSession(path, options)
    assert session.get_inputs()[0].shape == [2, 3]


@MODULES
def test_initializers_are_replaced(ort: ModuleType, path: str) -> None:
    options = ort.SessionOptions()
    value = ort.OrtValue.ortvalue_from_numpy(np.array([2, 2, 2], np.float32))
    options.add_initializer("w", value)
    (y,) = ort.InferenceSession(path, options).run(["y"], {"x": X, "k": K})
    np.testing.assert_array_equal(y, np.maximum(X * 2, 0))


@MODULES
def test_profiles_are_chrome_traces(ort: ModuleType, path: str, tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace_")
    session = ort.InferenceSession(path, options)
    session.run(None, {"x": X, "k": K})
    file = session.end_profiling()
    assert file.startswith(str(tmp_path / "trace_"))
    events = json.loads(Path(file).read_text())
    names = {event["name"] for event in events if event["ph"] == "X" and event["dur"] >= 0}
    assert any(name.startswith("model_loading") for name in names) and "model_run" in names
    nodes = [event for event in events if event["cat"] == "Node" and event["name"].endswith("_kernel_time")]
    assert nodes and all(event["dur"] >= 0 and event["args"]["op_name"] for event in nodes)


@MODULES
def test_a_terminated_run_fails(ort: ModuleType, path: str) -> None:
    options = ort.RunOptions()
    options.terminate = True
    session = ort.InferenceSession(path)
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="terminate"):
        session.run(None, {"x": X, "k": K}, options)
    options.terminate = False
    assert len(session.run(None, {"x": X, "k": K}, options)) == 2


@MODULES
def test_asynchronous_runs_call_back(ort: ModuleType, path: str) -> None:
    session, over = ort.InferenceSession(path), threading.Event()
    received: list[tuple[list[object], object, str]] = []

    def receive(results: list[object], data: object, message: str) -> None:
        received.append((results, data, message))
        over.set()

    session.run_async(["z"], {"x": X, "k": K}, receive, "data")
    assert over.wait(20)
    results, data, message = received[0]
    np.testing.assert_array_equal(results[0], K * 2)
    assert (data, message) == ("data", "")


@MODULES
def test_unknown_providers_are_warned_of(ort: ModuleType, path: str) -> None:
    with pytest.warns(UserWarning, match="QuantumExecutionProvider"):
        session = ort.InferenceSession(path, providers=["QuantumExecutionProvider", "CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]


def run_program(code: str) -> str:
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_install_takes_the_place_of_the_package(path: str) -> None:
    code = f"""
import sardonyx.compat
sardonyx.compat.install()
import onnxruntime as ort, onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
assert C.InvalidArgument is InvalidArgument
print(ort.__name__, ort.InferenceSession is InferenceSession, len(ort.InferenceSession({path!r}).get_inputs()))
"""
    assert run_program(code) == "sardonyx.compat.onnxruntime True 2"


def test_hints_without_effect_are_logged_once(path: str, caplog: pytest.LogCaptureFixture) -> None:
    options = ours.SessionOptions()
    options.inter_op_num_threads = 3
    with caplog.at_level("INFO", "sardonyx.compat"):
        for _ in range(2):
            ours.InferenceSession(path, options)
    assert [record.getMessage() for record in caplog.records if "inter_op" in record.getMessage()] == [
        "SessionOptions.inter_op_num_threads has no effect: intra_op_num_threads is the number of threads"
    ]


REFUSALS: dict[str, Callable[[], object]] = {
    "adapters": lambda: ours.RunOptions().add_active_adapter(None),
    "denotations": lambda: ours.SessionOptions().add_free_dimension_override_by_denotation("BATCH", 1),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_honored_is_refused(name: str) -> None:
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.NotImplemented):
        REFUSALS[name]()


@pytest.mark.parametrize("is_available", [False, True])
def test_entry_for_products_of_bfloat16(
    is_available: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if is_available and not has_bf16_products(host_target()):
        pytest.skip("the processor has no products of bfloat16")
    monkeypatch.setattr(precision, "has_bf16_products", lambda target: is_available)
    options = ours.SessionOptions()
    options.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
    weights = ", ".join(["0.1"] * 32)
    graph = f"g (float[2,16] x) => (float[2,2] y) <float[16,2] w = {{{weights}}}> {{ y = MatMul(x, w) }}"
    path = write_model(tmp_path, f'<ir_version: 8, opset_import: ["": 17]> {graph}')
    session = ours.InferenceSession(path, options)
    assert session.session.precision == ("bf16" if is_available else "float32")
