"""Sequences that grow in loops, wherever the insertions are: no iteration copies what the ones before have inserted."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.interp.run_memory import RunMemory
from sardonyx._src.ir import Model
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.shape_policy import ShapePolicy
from sardonyx._src.runtime.session.session import Engine

TEXT = """g (int64 n, float[2] x, seq(float[2]) e) => (s, e2) {{
  b = Constant <value = bool {{1}}> ()  zero = Constant <value = int64 {{0}}> ()
  two = Constant <value = int64 {{2}}> ()  w = Constant <value = float[2,2] {{1, 0, 0, 1}}> ()
  s = Loop(n, b, e) <body = f (int64 i, bool c, seq(float[2]) a) => (bool d, seq(float[2]) o) {{
    d = Identity(c) {body}
  }}>
  e2 = Identity(e)
}} <opset_import: ["": 21], domain: "my"> insert (a, x) => (o) {{ o = SequenceInsert(a, x) }}"""
X = np.array([1, 2], np.float32)
BRANCHES = (
    "<then_branch = t () => (u) {{ u = SequenceInsert(a, x) }}, else_branch = g2 () => (v) {{ v = {other} }}>"
)
BODIES = {  # one insertion, or two, in each iteration
    "an insertion": "o = SequenceInsert(a, x)",
    "in front": "o = SequenceInsert(a, x, zero)",
    "in the middle": "h = SequenceLength(a)  m = Div(h, two)  o = SequenceInsert(a, x, m)",
    "two insertions": "t = SequenceInsert(a, x)  o = SequenceInsert(t, x)",
    "an erasure": "t = SequenceInsert(a, x)  r = SequenceInsert(t, x)  o = SequenceErase(r, zero)",
    "read after": "o = SequenceInsert(a, x)  k = SequenceLength(o)  z = SequenceAt(o, i)",
    "read too late": "o = SequenceInsert(a, x)  k = SequenceLength(a)",
    "another name": "p = Identity(a)  q = Identity(p)  o = SequenceInsert(q, x)",
    "insertions under two names": "p = Identity(a)  t = SequenceInsert(p, x)  o = SequenceInsert(a, x)",
    "two insertions into one": "t = SequenceInsert(a, x, zero)  k = SequenceLength(t)  o = SequenceInsert(a, x)",
    "an optional": "t = SequenceInsert(a, x)  p = Optional(t)  o = OptionalGetElement(p)",
    "an addition": "y = Add(x, x)  z = Sub(y, x)  o = SequenceInsert(a, z)",
    "a product": "y = MatMul(x, w)  o = SequenceInsert(a, y)",
    "many operations": "y = Exp(x) y2 = Mul(y, x) y3 = Tanh(y2) y4 = MatMul(y3, w) y5 = Sub(y4, y3) o0 = Add(x, y5) o1 = MatMul(o0, w) o = SequenceInsert(a, o1)",
    "a branch": f"o = If(c) {BRANCHES.format(other='Identity(a)')}",
    "both branches": f"o = If(d) {BRANCHES.format(other='SequenceInsert(a, x, zero)')}",
    "a branch with an operation": f"y = MatMul(x, w)  t = If(c) {BRANCHES.format(other='Identity(a)')}  o = SequenceInsert(t, y)",
    "a function": "o = my.insert(a, x)",
    "a loop": "o = Loop(two, b, a) <body = f2 (int64 j, bool c2, seq(float[2]) a2) => (bool d2, seq(float[2]) o2) { d2 = Identity(c2)  o2 = SequenceInsert(a2, x) }>",
    "captured by a scan": "o = SequenceInsert(a, x)  p, q = Scan <num_scan_inputs = 1, body = f3 (int64 k, float r) => (int64 l, float m) { l = SequenceLength(o)  m = Identity(r) }> (zero, x)",
    "captured by a loop": "o = SequenceInsert(a, x)  l = Loop(two, b, zero) <body = f2 (int64 j, bool c2, int64 k) => (bool d2, int64 l2) { d2 = Identity(c2)  z = SequenceAt(o, j)  l2 = SequenceLength(o) }>",
}
COUNT = 150
START = 40  # elements that are fed: already more than lists have


def model_of(body: str) -> Model:
    return parse_model(TEXT.format(body=body), opset=21, more='"my": 1')


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_no_iteration_looks_at_all_elements(body: str, engine: Engine) -> None:
    start = [X + 1] * START
    session = sx.Session(model_of(BODIES[body]), engine=engine)
    with (
        patch.object(PersistentSequence, "of", side_effect=PersistentSequence.of) as conversions,
        patch.object(
            PersistentSequence, "__iter__", autospec=True, side_effect=PersistentSequence.__iter__
        ) as readings,
        patch.object(
            RunMemory, "add_container", autospec=True, side_effect=RunMemory.add_container
        ) as countings,
    ):
        results = session.run({"n": np.array(COUNT), "x": X, "e": start})
    assert conversions.call_count + readings.call_count + countings.call_count <= 8
    sequence, initial = results["s"], results["e2"]
    assert type(sequence) is type(initial) is list
    assert len(start) == len(initial) == START
    per_iteration = 2 if body in ("two insertions", "a loop", "a branch with an operation") else 1
    assert len(sequence) == START + per_iteration * COUNT


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_results_of_iterations_share_no_memory(engine: Engine) -> None:
    """Compiled bodies write each iteration's result to the same place."""
    text = TEXT.format(
        body="f1 = Cast <to = 1> (i)  y = Add(x, f1)  z = MatMul(y, w)  o = SequenceInsert(a, z)"
    )
    session = sx.Session(parse_model(text, opset=21, more='"my": 1'), engine=engine)
    for _ in range(2):
        sequence = session.run({"n": np.array(COUNT), "x": X, "e": [X]})["s"]
        assert isinstance(sequence, list)
        np.testing.assert_array_equal(
            np.stack(list(sequence)), np.stack([X, *(X + np.float32(i) for i in range(COUNT))])
        )


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_a_fed_sequence_is_not_copied_by_each_iteration(engine: Engine) -> None:
    body = "t = SequenceInsert(e, x)  o = SequenceErase(t, zero)"
    start = [X + i for i in range(500)]
    session = sx.Session(model_of(body), engine=engine)
    with patch.object(PersistentSequence, "of", side_effect=PersistentSequence.of) as conversions:
        result = session.run({"n": np.array(COUNT), "x": X, "e": start})["s"]
    assert conversions.call_count == 1
    np.testing.assert_array_equal(np.stack(list(result)), np.stack([*start[1:], X]))
    assert len(start) == 500


def test_traces_keep_every_sequence() -> None:
    session = sx.Session(model_of(BODIES["an insertion"]), engine="reference")
    trace = session.trace({"n": np.array(COUNT), "x": X, "e": []})
    sequences = [results[0] for node, results in trace if node.op_type == "SequenceInsert"]
    assert [type(value) is list and len(value) for value in sequences] == list(range(1, COUNT + 1))


@pytest.mark.parametrize("shapes", ["inputs", "strict"])
def test_elements_of_growing_sequences_are_compared_with_their_declaration(shapes: ShapePolicy) -> None:
    model = model_of("z = Concat <axis = 0> (x, x)  o = SequenceInsert(a, z)")
    session = sx.Session(model, engine="reference", shapes=shapes)
    feeds = {"n": np.array(3), "x": X, "e": [X] * START}
    if shapes == "strict":
        with pytest.raises(sx.SardonyxError, match=rf"\[{START}\] axis 0 must have length 2"):
            session.run(feeds)
    else:
        with pytest.warns(sx.ShapeWarning, match=r"must have length 2"):
            session.run(feeds)


@pytest.mark.parametrize("shapes", ["inputs", "strict"])
def test_elements_with_named_sizes_are_compared_once(shapes: ShapePolicy) -> None:
    """The comparisons of a sequence that n iterations extend are proportional to n, not to n * n."""
    text = TEXT.replace("float[2])", "float[N])").format(body=BODIES["an insertion"])
    session = sx.Session(parse_model(text, opset=21, more='"my": 1'), engine="reference", shapes=shapes)
    with patch.object(DeclaredDims, "check", autospec=True, side_effect=DeclaredDims.check) as checks:
        session.run({"n": np.array(COUNT), "x": X, "e": []})
    assert COUNT < checks.call_count < 15 * COUNT


NAMED = """b = Constant <value = bool {1}> ()  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()  three = Constant <value = int64 {3}> ()
  s = Loop(n, b, e) <body = f (int64 i, bool c, seq(float[K]) a) => (bool d, seq(float[K]) o) {
    d = Identity(c)  k = Equal(i, three)  h = Cast <to = 7> (k)  z = Add(h, one)  r = Slice(x, zero, z)
    o = SequenceInsert(a, r)
  }>"""
HEAD = "g (int64 n, float[2] x, seq(float[M]) e) => (s)"
FUNCTION = '<opset_import: ["": 21], domain: "my"> call (n, x, e) => (s)'


@pytest.mark.parametrize("length", [0, START])
@pytest.mark.parametrize(
    "text",
    [f"{HEAD} {{ {NAMED} }}", f"{HEAD} {{ s = my.call(n, x, e) }} {FUNCTION} {{ {NAMED} }}"],
    ids=["graph", "function"],
)
def test_the_last_element_is_compared_with_the_size_of_the_first(text: str, length: int) -> None:
    """A name in a function means something of its own in each call."""
    session = sx.Session(parse_model(text, more='"my": 1'), engine="reference", shapes="strict")
    start = [X[:1]] * length
    session.run({"n": np.array(3), "x": X, "e": start})
    with pytest.raises(sx.SardonyxError, match=r"dimension 'K' must have one length; got 1 in .* and 2 in"):
        session.run({"n": np.array(4), "x": X, "e": start})
