"""Scan outputs of loops without iterations: length 0, and otherwise the sizes that a first iteration would yield."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
import pytest

import sardonyx as sx
from sardonyx.errors import EvaluationError

F = np.float32
Engine: TypeAlias = Literal["reference", "native"]
ENGINES: tuple[Engine, ...] = ("reference", "native")
TRUE = "t = Constant<value = bool {1}>()"


def shape_of(
    text: str, engine: Engine, feeds: Mapping[str, np.ndarray], output: str = "ys"
) -> tuple[int, ...]:
    session = sx.Session(sx.from_text(text), engine=engine)
    result: tuple[int, ...] = session.run(feeds)[output].shape
    return result


def loop(
    outputs: str,
    body: str,
    element: str,
    *,
    inputs: str = "float[B] b, int64 n",
    ir: int = 10,
    carried: str = "b",
) -> str:
    """A model with a Loop that yields `s`, of the declared element type."""
    return f"""<ir_version: {ir}, opset_import: ["" : 21]> g ({inputs}) => ({outputs}) {{
      {TRUE}
      r, ys = Loop(n, t, {carried}) <body = q (int64 i, bool c, float[B] x) => (bool co, float[B] o, {element} s) {{
        co = Identity(c)  o = Identity(x)  {body} }}> }}"""


NO_TRIPS = {"b": np.ones(3, F), "n": np.array(0)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_an_input_binds_is_its_length(engine: Engine) -> None:
    assert shape_of(loop("float[L,B] ys", "s = Mul(x, x)", "float[B]"), engine, NO_TRIPS) == (0, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_declared_name_tells_what_inference_cannot(engine: Engine) -> None:
    nonzero = "z = NonZero(x)  s = Squeeze(z, i0)"
    text = loop("int64[L,B] ys", "i0 = Constant<value_ints = [0]>()  " + nonzero, "int64[B]")
    assert shape_of(text, engine, NO_TRIPS) == (0, 3)
    for dim, size in (('"2*B"', 6), ("K", 0)):
        other = loop(f"int64[L,{dim}] ys", "i0 = Constant<value_ints = [0]>()  " + nonzero, f"int64[{dim}]")
        assert shape_of(other, engine, NO_TRIPS) == (0, size)


def test_a_name_in_a_body_of_ir_version_3_is_its_own() -> None:
    nonzero = "i0 = Constant<value_ints = [0]>()  z = NonZero(x)  s = Squeeze(z, i0)"
    text = loop("int64[L,K] ys", nonzero, "int64[B]", ir=3)
    assert shape_of(text, "reference", NO_TRIPS) == (0, 0)


@pytest.mark.filterwarnings("ignore::sardonyx.ShapeWarning")  # the declared sizes are wrong
@pytest.mark.parametrize("engine", ENGINES)
def test_what_operators_yield_counts_more_than_declarations(engine: Engine) -> None:
    body = "one = Constant<value_ints = [7, 1]>()  s = Expand(x, one)"
    for element in ("float[B,B]", "float[?,?]", "float[5,3]"):
        assert shape_of(loop("float[L,?,?] ys", body, element), engine, NO_TRIPS) == (0, 7, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_values_of_outer_graphs_determine_sizes(engine: Engine) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]> g (float[B] b, int64 n) => (float[L,A,K] ys) {
      t = Constant<value = bool {1}>()  z = NonZero(b)  zs = Cast<to = 1>(z)
      r, ys = Loop(n, t, b) <body = q (int64 i, bool c, float[B] x) => (bool co, float[B] o, float[A,K] s) {
        co = Identity(c)  o = Identity(x)  s = Neg(zs) }> }"""
    assert shape_of(text, engine, {**NO_TRIPS, "b": np.array([1, 0, 2, 3], F)}) == (0, 1, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_elements_of_outer_graphs_determine_sizes(engine: Engine) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]> g (float[B] b, int64 n, int64[2] to) => (float[L,A,K] ys) {
      t = Constant<value = bool {1}>()
      r, ys = Loop(n, t, b) <body = q (int64 i, bool c, float[B] x) => (bool co, float[B] o, float[A,K] s) {
        co = Identity(c)  o = Identity(x)  s = Expand(x, to) }> }"""
    assert shape_of(text, engine, {**NO_TRIPS, "to": np.array([4, 1])}) == (0, 4, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_body_in_a_function_knows_its_call_and_not_the_names_of_the_model(engine: Engine) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "l" : 1]>
    g (float[B] b, float[M,2] m, int64 n) => (float[L,K] ys, int64[L,K] zs) { ys, zs = l.f(b, n) }
    <domain: "l", opset_import: ["" : 21]> f <to = 1> (x, n) => (ys, zs) {
      t = Constant<value = bool {1}>()  i0 = Constant<value_ints = [0]>()
      r, ys, zs = Loop(n, t, x) <body = q (int64 i, bool c, v) => (bool co, o, s, int64[M] z) {
        co = Identity(c)  o = Identity(v)  w = Neg(v)  s = Cast<to: int = @to>(w)
        nz = NonZero(v)  z = Squeeze(nz, i0) }> }"""
    feeds = {"b": np.ones(3, F), "m": np.ones((5, 2), F), "n": np.array(0)}
    assert shape_of(text, engine, feeds) == (0, 3)
    assert shape_of(text, engine, feeds, "zs") == (0, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_body_that_calls_functions(engine: Engine) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "l" : 1]>
    g (float[B] b, int64 n) => (float[L,K] ys) {
      t = Constant<value = bool {1}>()
      r, ys = Loop(n, t, b) <body = q (int64 i, bool c, float[B] v) => (bool co, o, float[K] s) {
        co = Identity(c)  o = Identity(v)  s = l.double(v) }> }
    <domain: "l", opset_import: ["" : 21]> double (x) => (y) { y = Concat<axis = 0>(x, x) }"""
    assert shape_of(text, engine, NO_TRIPS) == (0, 6)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_over_sequences(engine: Engine) -> None:
    """Such a loop is a fallback op of the native engine."""
    text = """<ir_version: 10, opset_import: ["" : 21]> g (float[B] b, int64 n) => (int64[L,B] ys, int64 count) {
      t = Constant<value = bool {1}>()  e = SequenceEmpty()  i0 = Constant<value_ints = [0]>()
      r, ys = Loop(n, t, e) <body = q (int64 i, bool c, seq(float) q0) => (bool co, seq(float) q1, int64[B] s) {
        co = Identity(c)  q1 = SequenceInsert(q0, b)  z = NonZero(b)  s = Squeeze(z, i0) }>
      count = SequenceLength(r) }"""
    assert shape_of(text, engine, NO_TRIPS) == (0, 3)


OF_A_SEQUENCE = """<ir_version: 10, opset_import: ["" : 21]> g (float[B] b, int64 n) => (float[L,?,?] ys) {
  t = Constant<value = bool {1}>()  e = SequenceEmpty()  i0 = Constant<value_int = 0>()
  ys = Loop(n, t) <body = q (int64 i, bool c) => (bool co, ELEMENT s) { co = Identity(c)  s = SequenceAt(e, i0) }> }"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_size_that_nothing_tells_is_0_and_a_type_is_needed(engine: Engine) -> None:
    assert shape_of(OF_A_SEQUENCE.replace("ELEMENT", "float[N,3]"), engine, NO_TRIPS) == (0, 0, 3)
    assert shape_of(OF_A_SEQUENCE.replace("ELEMENT", "float[N,B]"), engine, NO_TRIPS) == (0, 0, 3)
    if engine == "reference":
        with pytest.raises(
            EvaluationError, match="scan output 's' without elements must be of a known tensor type"
        ):
            shape_of(OF_A_SEQUENCE.replace("ELEMENT ", ""), engine, NO_TRIPS)


def scan(element: str, body: str, outputs: str = "float[?,?] ys", **attributes: object) -> str:
    extra = "".join(f", {name} = {value}" for name, value in attributes.items())
    return f"""<ir_version: 10, opset_import: ["" : 21]> g (float[B] b, float[T,B] xs) => ({outputs}) {{
      r, ys = Scan<num_scan_inputs = 1{extra}, body = q (float[B] a, float[B] x) => (float[B] o, {element} s) {{
        o = Add(a, x)  {body} }}>(b, xs) }}"""


@pytest.mark.parametrize("engine", ENGINES)
def test_scans_of_length_0(engine: Engine) -> None:
    feeds = {"b": np.ones(3, F), "xs": np.ones((0, 3), F)}
    for element in ("float[B]", "float[?]"):
        assert shape_of(scan(element, "s = Mul(a, x)"), engine, feeds) == (0, 3)
    turned = scan("float[B]", "s = Mul(a, x)", scan_output_axes="[-1]")
    assert shape_of(turned, engine, feeds) == (3, 0)
    nonzero = "i0 = Constant<value_ints = [0]>()  z = NonZero(x)  s = Squeeze(z, i0)"
    assert shape_of(scan("int64[B]", nonzero, "int64[?,?] ys"), engine, feeds) == (0, 3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("batch", "length"), [(0, 2), (2, 0), (0, 0)])
def test_scans_of_version_8_without_batches_or_slices(engine: Engine, batch: int, length: int) -> None:
    text = """<ir_version: 3, opset_import: ["" : 8]> g (float[N,B] b, float[N,T,B] xs) => (float[N,T,B] ys) {
      r, ys = Scan<num_scan_inputs = 1, body = q (float[B] a, float[B] x) => (float[B] o, float[K] s) {
        o = Add(a, x)  s = Mul(o, x) }>("", b, xs) }"""
    feeds = {"b": np.ones((batch, 3), F), "xs": np.ones((batch, length, 3), F)}
    assert shape_of(text, engine, feeds) == (batch, length, 3)
