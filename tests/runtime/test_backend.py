"""`sardonyx.backend`: the interface of `onnx.backend.base.Backend`."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.backend.base
import pytest
from onnx import TensorProto, helper, numpy_helper

import sardonyx as sx
from models import parse_model
from sardonyx import backend
from sardonyx._src.runtime.session.session import Engine

SUM = "g (float[N] x, float[N] y) => (float[N] z, float[N] twice) { z = Add(x, y) twice = Add(z, z) }"
DEFAULT = "g (float[2] x, float[2] w = {1, 2}, float[2] y) => (float[2] z) { a = Mul(x, w) z = Sub(a, y) }"
X, Y = np.array([1, 2], np.float32), np.array([3, 5], np.float32)
ENGINES: tuple[Engine, ...] = ("reference", "native")


def plain(value: object) -> object:
    """A tensor as Python numbers or strings in lists."""
    return np.asarray(value).tolist()


def proto(text: str) -> onnx.ModelProto:
    return onnx.load_from_string(data(text))


def data(text: str) -> bytes:
    model = parse_model(text, opset=21)
    stream = BytesIO()
    sx.save(model, stream)
    return stream.getvalue()


def run(text: str, inputs: object, **options: str) -> backend.Outputs:
    return backend.run_model(parse_model(text, opset=21), inputs, **options)


# --- the interface ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["is_compatible", "prepare", "run_model", "run_node", "supports_device"])
def test_parameters_are_those_of_the_base_class(name: str) -> None:
    base = list(inspect.signature(getattr(onnx.backend.base.Backend, name)).parameters.values())
    ours = list(inspect.signature(getattr(backend, name)).parameters.values())
    positional = [p for p in ours if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert [(p.name, p.default) for p in positional] == [
        (p.name, p.default) for p in base if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    assert getattr(backend.Backend, name) == getattr(backend, name)


def test_nothing_of_the_wheel_is_imported() -> None:
    code = "import sys, sardonyx.backend; print([m for m in sys.modules if m.split('.')[0] in ('onnx', 'google')])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_a_model_is_given_in_any_form(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(data(SUM))
    forms = (proto(SUM), data(SUM), tmp_path / "m.onnx", str(tmp_path / "m.onnx"), parse_model(SUM, opset=21))
    for model in forms:
        assert plain(backend.prepare(model).run([X, Y])[0]) == [4, 7]


@pytest.mark.parametrize("engine", ENGINES)
def test_options_are_those_of_a_session(engine: Engine) -> None:
    prepared = backend.prepare(proto(SUM), "CPU", engine=engine, threads=1, rtol=1e-3, atol=1e-7)
    assert prepared.session.engine == engine
    assert [plain(prepared.run([X, Y])[0]) for _ in range(3)] == [[4, 7]] * 3


def test_a_subclass_sets_the_engine() -> None:
    class Reference(backend.Backend):
        engine = "reference"

    assert Reference.prepare(proto(SUM)).session.engine == "reference"
    assert Reference.prepare(proto(SUM), engine="native").session.engine == "native"


def test_devices() -> None:
    assert backend.supports_device("CPU") and backend.supports_device("CPU:0")
    assert not any(map(backend.supports_device, ("CUDA", "CUDA:1", "cpu", "CPU:1", "")))
    with pytest.raises(sx.InputError, match="device must be one of 'CPU', 'CPU:0'; got 'CUDA'"):
        backend.prepare(proto(SUM), "CUDA")


def test_a_model_is_compatible_if_all_its_operators_have_kernels() -> None:
    assert backend.is_compatible(proto(SUM), engine="native")
    assert backend.is_compatible(proto(SUM), policy="trusted", verify_checksums=False)
    assert not backend.is_compatible(proto(SUM), "CUDA")
    unknown = helper.make_node("Unknown", ["x"], ["z"], domain="com.example")
    model = proto(SUM)
    model.graph.node[0].CopyFrom(unknown)
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    assert not backend.is_compatible(model)
    with pytest.raises(sx.UnsupportedOperator, match=r"com\.example\.Unknown"):
        backend.prepare(model)
    with pytest.raises(sx.DecodeError):
        backend.is_compatible(b"\xff")


# --- inputs and outputs ----------------------------------------------------------------------------


def test_outputs_are_a_tuple_with_names() -> None:
    outputs = run(SUM, [X, Y])
    assert isinstance(outputs, tuple) and len(outputs) == 2
    assert outputs.names == ("z", "twice")
    assert outputs["twice"] is outputs[1] and outputs[-1:] == (outputs[1],)
    assert plain(pickle.loads(pickle.dumps(outputs))["z"]) == [4, 7]
    with pytest.raises(sx.OutputError, match="no output 'zz'"):
        outputs["zz"]


def test_inputs_are_listed_named_or_alone() -> None:
    for inputs in ([X, Y], (X, Y), {"y": Y, "x": X}, [[1, 2], [3, 5]], [numpy_helper.from_array(X), Y]):
        assert plain(run(SUM, inputs)["z"]) == [4, 7]
    negated = "g (float[2] x) => (float[2] y) { y = Neg(x) }"
    assert plain(run(negated, X)[0]) == [-1, -2]
    assert plain(run(negated, numpy_helper.from_array(X))[0]) == [-1, -2]
    assert run("g (float x) => (float y) { y = Neg(x) }", [np.float32(3)])[0] == -3
    assert run("g () => (float y) <float x = {3}> { y = Neg(x) }", [])[0] == -3


def test_inputs_with_defaults_are_left_out_or_given() -> None:
    assert plain(run(DEFAULT, [X, Y])[0]) == [-2, -1]
    assert plain(run(DEFAULT, [X, X, Y])[0]) == [-2, -1]
    assert plain(run(DEFAULT, [X, Y, Y])[0]) == [0, 5]
    with pytest.raises(sx.InputError, match=r"2 values, one for each of \['x', 'y'\], or 3, .*; got 1"):
        run(DEFAULT, [X])


def test_wrong_calls_are_input_errors() -> None:
    with pytest.raises(sx.InputError, match=r"inputs must be 2 values, one for each of \['x', 'y'\]; got 3"):
        run(SUM, [X, Y, Y])
    with pytest.raises(sx.InputError, match="no option 'engin'; did you mean 'engine'"):
        run(SUM, [X, Y], engin="native")
    with pytest.raises(sx.InputError, match="no option 'verbose'; there are no options"):
        backend.prepare(proto(SUM)).run([X, Y], verbose=True)
    with pytest.raises(sx.InputError, match="input 'x' must be float; got float64"):
        run(SUM, [X.astype(np.float64), Y])
    with pytest.raises(sx.InputError, match="inputs must be 2 values"):
        run(SUM, None)


def test_sequences_optionals_and_maps() -> None:
    same = "g (%s x) => (%s y) { y = Identity(x) }"
    sequence = same.replace("%s", "seq(float[2])")
    record = numpy_helper.from_list([X, Y])
    for value in ([X, Y], (X, Y), record):
        (result,) = run(sequence, [value])
        assert isinstance(result, list)
        assert list(map(plain, result)) == [[1, 2], [3, 5]]
    optional = same.replace("%s", "optional(float[2])")
    assert run(optional, [None])[0] is None
    assert plain(run(optional, [numpy_helper.from_optional(X)])[0]) == [1, 2]
    vectorized = 'g (map(string, float) m) => (float[1,2] y) { y = ai.onnx.ml.DictVectorizer <string_vocabulary = ["a", "b"]> (m) }'
    model = parse_model(vectorized, opset=21, more='"ai.onnx.ml": 3')
    values = {"b": np.float32(2), "a": np.float32(1)}
    scalars = [numpy_helper.from_array(np.asarray(x)) for x in values.values()]
    sequence_proto = onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR, tensor_values=scalars)
    stored = onnx.MapProto(key_type=TensorProto.STRING, string_keys=[b"b", b"a"], values=sequence_proto)
    for value in (values, stored):
        assert plain(backend.run_model(model, [value])[0]) == [[1, 2]]


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn"]
)
def test_narrow_types_are_arrays_of_ml_dtypes(dtype: str) -> None:
    element = getattr(ml_dtypes, dtype)
    x = np.array([1, 2, 3], np.float32).astype(element)
    number = helper.np_dtype_to_tensor_dtype(x.dtype)
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    record = helper.make_tensor("x", number, [3], x)
    for value in (x, record):
        result = np.asarray(backend.run_node(node, [value, np.array([3, 1])])[0])
        assert result.dtype == element
        assert plain(result) == [[1], [2], [3]]


def test_strings() -> None:
    node = helper.make_node("StringConcat", ["a", "b"], ["c"])
    for a in (np.array(["x", "y"]), np.array(["x", "y"], object), np.array([b"x", b"y"])):
        assert plain(backend.run_node(node, [a, a])[0]) == ["xx", "yy"]


# --- single nodes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_node_runs_in_the_version_that_is_asked_for(engine: Engine) -> None:
    node = helper.make_node("Softmax", ["x"], ["y"])
    x = np.zeros((2, 3, 4), np.float32)
    old = backend.run_node(node, [x], engine=engine, opset_version=11)["y"]
    np.testing.assert_allclose(np.asarray(old), np.full((2, 3, 4), 1 / 12), rtol=1e-6)
    for form in (node, node.SerializeToString()):
        new = backend.run_node(form, x, engine=engine)["y"]
        np.testing.assert_allclose(np.asarray(new), np.full((2, 3, 4), 1 / 4), rtol=1e-6)


def test_omitted_inputs_and_outputs() -> None:
    clip = helper.make_node("Clip", ["x", "", "high"], ["y"])
    for inputs in ([Y, np.float32(4)], [Y, None, np.float32(4)], {"x": Y, "high": np.float32(4)}):
        assert plain(backend.run_node(clip, inputs)[0]) == [3, 4]
    with pytest.raises(sx.InputError, match="an input that the node omits must be None"):
        backend.run_node(clip, [Y, np.float32(0), np.float32(4)])
    with pytest.raises(
        sx.InputError, match=r"inputs must be 2 values, one for each of \['x', 'high'\]; got 1"
    ):
        backend.run_node(clip, [Y])
    indices = helper.make_node("TopK", ["x", "k"], ["", "i"])
    outputs = backend.run_node(indices, [Y, np.array([1])])
    assert plain(outputs.names == ("i",) and outputs[0]) == [1]


def test_an_input_that_is_listed_twice_is_one_value() -> None:
    node = helper.make_node("Mul", ["x", "x"], ["y"])
    assert plain(backend.run_node(node, [Y, Y])[0]) == [9, 25]
    assert plain(backend.run_node(node, {"x": Y})[0]) == [9, 25]
    with pytest.raises(sx.InputError, match="input 'x', which the node lists twice, must be one object"):
        backend.run_node(node, [X, Y])


def test_nodes_of_sequences_optionals_and_subgraphs() -> None:
    length = helper.make_node("SequenceLength", ["s"], ["n"])
    assert backend.run_node(length, [[X, Y, np.ones(1, np.float32)]])[0] == 3
    has = helper.make_node("OptionalHasElement", ["o"], ["b"])
    assert not backend.run_node(has, [None])[0]
    branch = helper.make_graph(
        [helper.make_node("Neg", ["outer"], ["r"])],
        "branch",
        [],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )
    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    assert plain(backend.run_node(choice, {"c": np.array(True), "outer": X})[0]) == [-1, -2]
    scale = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[1.0], scale=[2.0])
    assert plain(backend.run_node(scale, [X[None]])[0]) == [[0, 2]]


def test_outputs_are_as_outputs_info_says() -> None:
    node = helper.make_node("Neg", ["x"], ["y"])
    assert plain(backend.run_node(node, [X], "CPU", [(np.float32, (2,))])[0]) == [-1, -2]
    with pytest.raises(sx.OutputError, match="output 'y' must be int64"):
        backend.run_node(node, [X], outputs_info=[(np.int64, (2,))])
    with pytest.raises(
        sx.InputError, match=r"outputs_info must have 1 entries, one for each of \['y'\]; got 0"
    ):
        backend.run_node(node, [X], outputs_info=[])
    for info in ([("no type", (2,))], [5], 5):
        with pytest.raises(
            sx.InputError, match="outputs_info must have pairs of an element type and a shape"
        ):
            backend.run_node(node, [X], outputs_info=info)  # type: ignore[arg-type]


def test_wrong_nodes_are_typed_errors() -> None:
    with pytest.raises(sx.InputError, match="node must be a NodeProto or its bytes; got a str"):
        backend.run_node("Neg", [X])
    with pytest.raises(sx.InputError, match="node must be a NodeProto or its bytes; got a ModelProto"):
        backend.run_node(proto(SUM), [X])
    with pytest.raises(sx.DecodeError):
        backend.run_node(b"\xff", [X])
    for version in (0, "13"):
        with pytest.raises(sx.InputError, match="opset_version must be a number from 1 on; got"):
            backend.run_node(helper.make_node("Neg", ["x"], ["y"]), [X], opset_version=version)  # type: ignore[arg-type]
    with pytest.raises(sx.SardonyxError, match="engine must be one of"):
        backend.prepare(proto(SUM), engine="tpu")
    with pytest.raises(sx.InputError, match="input 'x': ONNX has no element type for dtype datetime64"):
        backend.run_node(helper.make_node("Identity", ["x"], ["y"]), [np.zeros(1, "datetime64[s]")])
    with pytest.raises(sx.InputError, match="the model has no input 5"):
        run(SUM, {5: X})
    with pytest.raises(sx.InputError, match="the keys of inputs must be names; got 5"):
        backend.run_node(helper.make_node("Neg", ["x"], ["y"]), {5: X})
    with pytest.raises(sx.InputError, match="input 'x' must be strings; got a object"):
        backend.run_node(helper.make_node("Neg", ["x"], ["y"]), [object()])
