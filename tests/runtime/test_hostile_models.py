"""Hostile models: loading, printing, inference, saving and running end in a result or in a typed error."""

from __future__ import annotations

import _thread
import contextlib
import gc
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_function, parse_record
from mutations import mutated_bytes, mutated_records
from sampling import seed_range
from sardonyx._src.errors import EvaluationError, LimitError, SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.measure.random_feeds import random_feeds
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode

LIMITS = sx.RunLimits(bytes=1 << 24, iterations=1000, nodes=10_000)

# --- absurd sizes ----------------------------------------------------------------------------


HUGE = "s = Constant <value_ints = [1099511627776]> ()"
BODY = "b (int64 i, bool k, float[1] v) => (bool l, float[1] w) { l = Identity(k)  w = Identity(v) }"
ENDLESS = "n = Constant <value_int = 4611686018427387904> ()  c = Constant <value = bool {1}> ()"
ZERO_TO_MOST = "a = Constant <value_int = 0> ()  b = Constant <value_int = 9223372036854775807> ()"
CLASSES = "d = Constant <value_int = 1099511627776> ()  v = Constant <value_floats = [0.0, 1.0]> ()"


@pytest.mark.parametrize(
    "nodes",
    [
        f"{HUGE}  y = ConstantOfShape(s)",
        "s = Constant <value_ints = [4294967296, 4294967296]> ()  y = ConstantOfShape(s)",
        f"{HUGE}  y = Expand(x, s)",
        f"{HUGE}  z = Expand(x, s)  y = Add(z, x)",
        f"{HUGE}  y = Tile(x, s)",
        "s = Constant <value_ints = [0, 1099511627776]> ()  y = Pad(x, s)",
        f"{ZERO_TO_MOST}  c = Constant <value_int = 1> ()  y = Range(a, b, c)",
        f"i = Cast <to = 7> (x)  {CLASSES}  y = OneHot(i, d, v)",
        f"{ENDLESS}  y = Loop <body = {BODY}> (n, c, x)",
    ],
)
def test_a_result_too_large_for_memory_is_refused_before_allocation(nodes: str) -> None:
    model = parse_record(f"g (float[1] x) => (y) {{ {nodes} }}")
    sx.infer(sx.load(model))
    with pytest.raises(LimitError, match="which the caller may raise"):
        sx.Session(model, limits=LIMITS).run({"x": np.ones(1, np.float32)})


def test_a_sparse_tensor_too_large_to_be_dense_is_refused() -> None:
    model = parse_record("g (float[1] x) => (y) { y = Add(x, w) }")
    assert model.graph is not None
    values = m.TensorProto(name="w", dims=[1], data_type=1, float_data=[3.0])
    indices = m.TensorProto(dims=[1], data_type=7, int64_data=[1])
    model.graph.sparse_initializer = [m.SparseTensorProto(values=values, indices=indices, dims=[1 << 40])]
    assert "w" in sx.to_text(sx.load(model))
    with pytest.raises(LimitError, match="as a dense tensor"):
        sx.Session(model)


def test_a_thousand_functions_nested_in_branches_are_refused() -> None:
    model = parse_record("g (float[1] x, bool c) => (float[1] y) { y = l.f0(x, c) }", more='"l": 1')
    model.functions = [
        parse_function(
            f"""<domain: "l", opset_import: ["": 21, "l": 1]> f{i} (a, c) => (b) {{
              b = If(c) <then_branch = t () => (r) {{ r = l.f{i + 1}(a, c) }},
                         else_branch = e () => (s) {{ s = Neg(a) }}>
            }}"""
        )
        for i in range(1000)
    ]
    model.functions.append(
        parse_function('<domain: "l", opset_import: ["": 21]> f1000 (a, c) => (b) { b = Neg(a) }')
    )
    with pytest.raises(LimitError, match="nested deeper"):
        sx.Session(model, engine="reference").run({"x": np.ones(1, np.float32), "c": np.array(True)})


@pytest.fixture
def without_garbage_collector() -> Iterator[None]:
    """Python drops an exception that a signal raises in a callback of the collector, which other tests leave work for."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_garbage_collector")
def test_a_loop_that_does_not_end_can_be_interrupted() -> None:
    session = sx.Session(
        parse_record(f"g (float[1] x) => (y) {{ {ENDLESS}  y = Loop <body = {BODY}> (n, c, x) }}"),
        limits=sx.RunLimits(iterations=1 << 62),
    )
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.run({"x": np.ones(1, np.float32)})
    timer.join()


# --- random mutations ------------------------------------------------------------------------

TEXTS = [
    "g (float[N,2] x, float[2] w) => (float[N,2] y) <float[2] w = {1, 2}> { a = Add(x, w)  y = Softmax <axis = 1> (a) }",
    """g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
    }""",
    """g (int64 n, bool c, float[2] x) => (float[2] y, float[K,2] z) { y, z = Loop (n, c, x) <
      body = b (int64 i, bool k, float[2] v) => (bool l, float[2] w, float[2] s) { l = Identity(k)  w = Add(v, v)  s = Mul(w, x) }>
    }""",
    """g (float[2] s, float[N,2] x) => (float[2] y, float[N,2] z) { y, z = Scan <
      num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] c, float[2] o) { c = Add(a, e)  o = Identity(c) }> (s, x)
    }""",
    """g (float[N,3,4] x) => (y, z) <int64[1] one = {1}, int64[1] m = {-1}, int64[1] zero = {0}> {
      s = Shape(x)  n = Gather(s, zero)  t = Concat <axis = 0> (n, m)  y = Reshape(x, t)  r = ConstantOfShape(s)
      e = Expand(r, s)  v = Slice(e, zero, one, zero)  k = Constant <value_ints = [2, 1, 1]> ()  z = Tile(v, k)
    }""",
    """g (seq(float[N]) x, optional(float[2]) o, float[2] v) => (seq(float[N]) y, bool h, float[2] e) {
      y = Identity(x)  h = OptionalHasElement(o)  s = SequenceConstruct(v, v)  i = Constant <value_int = 1> ()  e = SequenceAt(s, i)
    }""",
    """g (float[1,2,6,6] x, float[3,2,3,3] w) => (float[1,C,3,3] y, float[1,3,6,6] z) {
      y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)  z = Conv <auto_pad = "SAME_UPPER"> (x, w)
    }""",
    """g (float[N] x) => (float[N] y) { y = l.f <k = 2.0> (x) }
    <domain: "l", opset_import: ["": 21]> f <k> (a) => (b) { c = Constant <value_float: float = @k> ()  b = Mul(a, c) }""",
]
SEEDS = [encode(parse_record(text, more='"l": 1')) for text in TEXTS]


def exercise(data: bytes) -> None:
    """Everything that a user does with a model; only errors of Sardonyx are suppressed."""
    with contextlib.suppress(SardonyxError):
        model = sx.load(data)
        for use in (sx.to_text, sx.to_json, save_and_reload, sx.infer, run):
            with contextlib.suppress(SardonyxError):
                use(model)


def save_and_reload(model: sx.Model) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sx.save(model, Path(folder) / "m.onnx", external=True, threshold=8)
        sx.load(Path(folder) / "m.onnx")


def run(model: sx.Model) -> None:
    session = sx.Session(model, limits=LIMITS)
    session.run(random_feeds(session.inputs, {}, 0, {}).values)


@pytest.mark.filterwarnings("ignore::sardonyx.errors.ShapeWarning")
@pytest.mark.parametrize("seed", seed_range(0, 8))
@pytest.mark.parametrize("mutated", [mutated_bytes, mutated_records])
def test_a_mutated_model_ends_in_a_typed_error(
    mutated: Callable[[bytes, random.Random], bytes], seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        exercise(mutated(rng.choice(SEEDS), rng))


def test_the_models_are_valid_before_mutation() -> None:
    for data in SEEDS:
        model = sx.load(data)
        sx.infer(model)
        run(model)
        save_and_reload(model)


def test_an_internal_error_of_a_kernel_is_not_an_evaluation_error() -> None:
    session = sx.Session(parse_record("g (float[2] x) => (float[2] y) { y = Neg(x) }"), engine="reference")

    def broken(*inputs: object, **attributes: object) -> None:
        raise AssertionError("ours")

    assert isinstance(session._runner, Interpreter)
    session._runner.program.steps[0].kernel = broken
    with pytest.raises(AssertionError, match="ours"):
        session.run({"x": np.zeros(2, np.float32)})


def test_an_error_of_numpy_names_the_node_and_the_shapes() -> None:
    session = sx.Session(parse_record("g (float[N] x, float[M] z) => (float[N] y) { [sum] y = Add(x, z) }"))
    with pytest.raises(EvaluationError, match=r"node\[0\] 'sum' \(Add\).*"):
        session.run({"x": np.zeros(2, np.float32), "z": np.zeros(3, np.float32)})
