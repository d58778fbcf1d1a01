"""Sequences that grow in a Loop are extended in place, unless something else may refer to them."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.interp.program import InterpreterProgram
from sardonyx._src.interp.run_state import Frame
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.model import Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.control.growing_sequences import growing_sequences
from sardonyx._src.ops.sequence import sequence_insert
from sardonyx._src.runtime.declared_dims import DeclaredDims
from sardonyx._src.runtime.session import Engine
from sardonyx._src.runtime.shape_policy import ShapePolicy

TEXT = """g (int64 n, float[2] x, seq(float[2]) e) => (s, e2) {{
  b = Constant <value = bool {{1}}> ()
  s{more} = Loop(n, b, e{states}) <body = f (int64 i, bool c, seq(float[2]) a{formals}) => (bool d, seq(float[2]) o{results}) {{
    d = Identity(c) {body}
  }}>
  e2 = Identity(e)
}}"""
X = np.array([1, 2], np.float32)
GROWING = {  # bodies: extended in place
    "an insertion": "o = SequenceInsert(a, x)",
    "two insertions": "t = SequenceInsert(a, x)  o = SequenceInsert(t, x)",
    "read before": "k = SequenceLength(a)  o = SequenceInsert(a, x)",
    "read after": "o = SequenceInsert(a, x)  k = SequenceLength(o)  z = SequenceAt(o, i)",
    "a name for the earlier sequence": "p = Identity(a)  k = SequenceLength(p)  o = SequenceInsert(a, x)",
    "another name inserted into": "p = Identity(a)  q = Identity(p)  o = SequenceInsert(q, x)",
    "a name for the next sequence": "q = SequenceInsert(a, x)  o = Identity(q)  k = SequenceLength(q)",
}
COPIED = {  # bodies: copied
    "read too late": "o = SequenceInsert(a, x)  k = SequenceLength(a)",
    "an earlier name read too late": "p = Identity(a)  o = SequenceInsert(a, x)  k = SequenceLength(p)",
    "a name given too late": "o = SequenceInsert(a, x)  p = Identity(a)",
    "insertions under two names": "p = Identity(a)  t = SequenceInsert(p, x)  o = SequenceInsert(a, x)",
    "two insertions into one": "t = SequenceInsert(a, x)  o = SequenceInsert(a, x)",
    "read in a branch": "o = SequenceInsert(a, x)  k = If(c) <then_branch = t () => (u) { u = SequenceLength(a) }, else_branch = g2 () => (v) { v = SequenceLength(a) }>",
    "another sequence": "w = SequenceEmpty()  o = SequenceInsert(w, x)",
}


def model_of(body: str, **parts: str) -> Model:
    places = {"more": "", "states": "", "formals": "", "results": ""} | parts
    return parse_model(TEXT.format(body=body, **places), opset=21)


def body_of(model: Model) -> Graph:
    (loop,) = [node for node in model.graph.nodes if node.op_type == "Loop"]
    (body,) = loop.subgraphs
    return body


@pytest.mark.parametrize("body", GROWING.values(), ids=GROWING)
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_sequence_that_only_a_loop_holds_is_extended(body: str, engine: Engine) -> None:
    model = model_of(body)
    insertions = body.count("SequenceInsert")
    assert [len(chain) for chain in growing_sequences(body_of(model)).values()] == [insertions]
    start = [X + 1]
    with patch.object(sequence_insert, "insertion", side_effect=AssertionError("no position is given")):
        result = sx.Session(model, engine=engine).run({"n": np.array(50), "x": X, "e": start})
    sequence = result["s"]
    assert isinstance(sequence, list)
    np.testing.assert_array_equal(
        np.stack([np.asarray(element) for element in sequence]), [X + 1] + [X] * (50 * insertions)
    )
    assert len(start) == 1
    initial = result["e2"]
    assert isinstance(initial, list)
    assert len(initial) == 1


@pytest.mark.parametrize("body", COPIED.values(), ids=COPIED)
def test_a_sequence_that_something_else_may_hold_is_copied(body: str) -> None:
    model = model_of(body)
    assert not growing_sequences(body_of(model))
    result = sx.Session(model, engine="reference").run({"n": np.array(5), "x": X, "e": [X]})["s"]
    assert isinstance(result, list)
    assert len(result) == (1 if "SequenceEmpty" in body else 6)


def test_two_states_that_become_one_sequence_are_copied() -> None:
    parts = {"more": ", s2", "states": ", e", "formals": ", seq(float[2]) a2", "results": ", o"}
    model = model_of("o = SequenceInsert(a, x)  k = SequenceLength(a2)", **parts)
    assert not growing_sequences(body_of(model))


def test_a_run_extends_one_list() -> None:
    """One list for all iterations: nothing is copied."""
    lists: set[int] = set()
    run_in = InterpreterProgram.run_in

    def record(
        program: InterpreterProgram, frame: Frame, inputs: Sequence[RuntimeValue]
    ) -> list[RuntimeValue]:
        lists.update(
            id(value) for value in inputs if isinstance(value, list) and len(inputs) == 3 and len(value) > 1
        )
        return run_in(program, frame, inputs)

    with patch.object(InterpreterProgram, "run_in", record):
        model = parse_model(
            TEXT.format(body=GROWING["an insertion"], more="", states="", formals="", results=""), opset=21
        )
        session = sx.Session(model, engine="reference")
        session.run({"n": np.array(40), "x": X, "e": []})
    assert len(lists) == 1


def test_traces_keep_every_sequence() -> None:
    session = sx.Session(model_of(GROWING["an insertion"]), engine="reference")
    trace = session.trace({"n": np.array(4), "x": X, "e": []})
    sequences = [results[0] for node, results in trace if node.op_type == "SequenceInsert"]
    assert [len(value) for value in sequences if isinstance(value, list)] == [1, 2, 3, 4]


@pytest.mark.parametrize("shapes", ["inputs", "strict"])
def test_elements_of_growing_sequences_are_compared_with_their_declaration(shapes: ShapePolicy) -> None:
    model = model_of("z = Concat <axis = 0> (x, x)  o = SequenceInsert(a, z)")
    session = sx.Session(model, engine="reference", shapes=shapes)
    feeds = {"n": np.array(3), "x": X, "e": [X]}
    if shapes == "strict":
        with pytest.raises(sx.SardonyxError, match=r"\[1\] axis 0 must have length 2"):
            session.run(feeds)
    else:
        with pytest.warns(sx.ShapeWarning, match=r"must have length 2"):
            session.run(feeds)


@pytest.mark.parametrize("shapes", ["inputs", "strict"])
def test_elements_with_named_sizes_are_compared_once(shapes: ShapePolicy) -> None:
    """The comparisons of a sequence that n iterations extend are proportional to n, not to n * n."""
    text = TEXT.replace("float[2]", "float[N]").format(
        body=GROWING["an insertion"], more="", states="", formals="", results=""
    )
    session = sx.Session(parse_model(text, opset=21), engine="reference", shapes=shapes)
    with patch.object(DeclaredDims, "check", autospec=True, side_effect=DeclaredDims.check) as checks:
        session.run({"n": np.array(100), "x": X, "e": []})
    assert 100 < checks.call_count < 1500


NAMED = """b = Constant <value = bool {1}> ()  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()  three = Constant <value = int64 {3}> ()
  s = Loop(n, b, e) <body = f (int64 i, bool c, seq(float[K]) a) => (bool d, seq(float[K]) o) {
    d = Identity(c)  k = Equal(i, three)  h = Cast <to = 7> (k)  z = Add(h, one)  r = Slice(x, zero, z)
    o = SequenceInsert(a, r)
  }>"""
HEAD = "g (int64 n, float[2] x, seq(float[M]) e) => (s)"
FUNCTION = '<opset_import: ["": 21], domain: "my"> call (n, x, e) => (s)'


@pytest.mark.parametrize(
    "text",
    [f"{HEAD} {{ {NAMED} }}", f"{HEAD} {{ s = my.call(n, x, e) }} {FUNCTION} {{ {NAMED} }}"],
    ids=["graph", "function"],
)
def test_the_last_element_is_compared_with_the_size_of_the_first(text: str) -> None:
    """A name in a function means something of its own in each call."""
    session = sx.Session(parse_model(text, more='"my": 1'), engine="reference", shapes="strict")
    session.run({"n": np.array(3), "x": X, "e": []})
    with pytest.raises(sx.SardonyxError, match=r"dimension 'K' must have one length; got 1 in .* and 2 in"):
        session.run({"n": np.array(4), "x": X, "e": []})
