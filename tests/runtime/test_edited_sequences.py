"""Sequences of a Loop that are edited in any place: the results are those of lists, and nothing else is changed."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.ops.sequence import sequence_insert
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.session.session import Engine

# Iteration i inserts [i]; k and its like are what else it yields: scan outputs.
TEXT = """g (int64 n, seq(int64[1]) e, seq(int64[1]) e2) => (s, s2, k, before) {{
  b = Constant <value = bool {{1}}> ()  zero = Constant <value = int64 {{0}}> ()
  two = Constant <value = int64 {{2}}> ()  last = Constant <value = int64 {{-1}}> ()
  flat = Constant <value = int64[1] {{0}}> ()
  s, s2, k = Loop(n, b, e, {second}) <body = f (int64 i, bool c, seq(int64[1]) a, seq(int64[1]) a2) => (bool d, seq(int64[1]) {results}, int64 k) {{
    d = Identity(c)  x = Unsqueeze(i, flat) {body}
  }}>
  before = SequenceLength(e)
}}"""
START = [-1, -2, -3]
COUNT = 80  # iterations: more than lists have elements


def model_of(body: str, *, results: str = "o, seq(int64[1]) o2", second: str = "e2") -> Model:
    return parse_model(TEXT.format(body=body, results=results, second=second), opset=21)


def run(model: Model, engine: Engine) -> tuple[list[int], list[int], list[int]]:
    """The final sequences and the scan output; what is fed must not change."""
    first, second = ([np.array([number]) for number in START] for _ in range(2))
    results = sx.Session(model, engine=engine).run({"n": np.array(COUNT), "e": first, "e2": second})
    assert len(first) == len(second) == results["before"] == len(START)
    assert type(results["s"]) is type(results["s2"]) is list
    numbers = ([int(element.item()) for element in results[name]] for name in ("s", "s2"))
    return *numbers, results["k"].tolist()


def insert_first(numbers: list[int], i: int) -> None:
    numbers.insert(0, i)


def insert_before_last(numbers: list[int], i: int) -> None:
    numbers.insert(-1, i)


def insert_in_the_middle(numbers: list[int], i: int) -> None:
    numbers.insert(len(numbers) // 2, i)


def pass_through_queue(numbers: list[int], i: int) -> None:
    numbers.append(i)
    del numbers[0]


def replace_last(numbers: list[int], i: int) -> None:
    numbers[-1] = i


EDITS = {
    "o = SequenceInsert(a, x, zero)": insert_first,
    "o = SequenceInsert(a, x, last)": insert_before_last,
    "h = SequenceLength(a)  m = Div(h, two)  o = SequenceInsert(a, x, m)": insert_in_the_middle,
    "t = SequenceInsert(a, x)  o = SequenceErase(t, zero)": pass_through_queue,
    "t = SequenceErase(a)  u = Identity(t)  o = SequenceInsert(u, x)": replace_last,
}


@pytest.mark.parametrize("body", EDITS)
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_edits_of_a_sequence_that_only_the_loop_holds(body: str, engine: Engine) -> None:
    model = model_of(f"{body}  o2 = Identity(a2)  k = SequenceLength(o)")
    expected, lengths = list(START), []
    for i in range(COUNT):
        EDITS[body](expected, i)
        lengths.append(len(expected))
    assert run(model, engine) == (expected, START, lengths)


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize(
    ("body", "results"),
    [
        ("o = SequenceInsert(a2, x)  o2 = Identity(a)", "o, seq(int64[1]) o2"),
        ("o = SequenceInsert(a2, x)", "o, a"),
    ],
)
def test_sequences_that_change_places(body: str, results: str, engine: Engine) -> None:
    model = model_of(f"k = SequenceLength(a)  {body}", results=results, second="e")
    expected, other, lengths = list(START), list(START), []
    for i in range(COUNT):
        lengths.append(len(expected))
        expected, other = [*other, i], expected
    assert run(model, engine) == (expected, other, lengths)


ALIASES = {  # bodies in which something else holds the sequence; k: its length before the edit
    "read later": "o = SequenceInsert(a, x, zero)  o2 = Identity(a2)  k = SequenceLength(a)",
    "another name": "p = Identity(a)  o = SequenceInsert(a, x, zero)  o2 = Identity(a2)  k = SequenceLength(p)",
    "a name of a name": "p = Identity(a)  q = Identity(p)  o = SequenceInsert(p, x, zero)  o2 = Identity(a2)  k = SequenceLength(q)",
    "two states": "o = SequenceInsert(a, x, zero)  o2 = Identity(a)  k = SequenceLength(o2)",
    "two equal states": "t = SequenceInsert(a, x)  o = Identity(t)  o2 = Identity(t)  k = SequenceLength(a)",
    "an inner graph": "o = SequenceInsert(a, x, zero)  o2 = Identity(a2)  k = If(c) <then_branch = t () => (u) { u = SequenceLength(a) }, else_branch = g2 () => (v) { v = Identity(zero) }>",
    "a result of an inner graph": "w = If(c) <then_branch = t () => (u) { u = Identity(a) }, else_branch = g2 () => (v) { v = Identity(a) }>  o = SequenceInsert(a, x, zero)  o2 = Identity(a2)  k = SequenceLength(w)",
    "an outer value": "o = SequenceInsert(e, x, zero)  o2 = Identity(a2)  k = SequenceLength(e)",
    "an optional": "w = Optional(a)  o = SequenceInsert(a, x, zero)  o2 = Identity(a2)  v = OptionalGetElement(w)  k = SequenceLength(v)",
}


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("alias", ALIASES)
def test_sequences_that_something_else_holds_do_not_change(alias: str, engine: Engine) -> None:
    model = model_of(ALIASES[alias])
    expected, other, lengths = list(START), list(START), []
    for i in range(COUNT):
        base = START if alias == "an outer value" else expected
        lengths.append(len(base))
        if alias == "two states":
            other = base
        expected = [i, *base]
        if alias == "two equal states":
            expected = other = [*base, i]
    assert run(model, engine) == (expected, other, lengths)


def test_one_value_as_two_states_is_two_lists() -> None:
    body = "o = SequenceInsert(a, x, zero)  o2 = SequenceErase(a2, zero)  k = SequenceLength(o)"
    model = model_of(body, second="e")
    session = sx.Session(model, engine="reference")
    start = [np.array([number]) for number in START]
    results = session.run({"n": np.array(2), "e": start, "e2": start})
    assert [int(x.item()) for x in results["s"]] == [1, 0, *START]
    assert [int(x.item()) for x in results["s2"]] == START[2:]


def test_traces_keep_every_edited_sequence() -> None:
    session = sx.Session(model_of("o = SequenceInsert(a, x, zero)  o2 = Identity(a2)  k = Identity(i)"))
    trace = session.trace({"n": np.array(3), "e": [], "e2": []})
    sequences = [results[0] for node, results in trace if node.op_type == "SequenceInsert"]
    assert [len(value) for value in sequences if isinstance(value, list)] == [1, 2, 3]


def test_a_queue_holds_no_more_than_its_elements() -> None:
    """What is erased does not count, and what is held does."""
    text = """g (int64 n, seq(float[1000]) e) => (s) {{
      b = Constant <value = bool {{1}}> ()  zero = Constant <value = int64 {{0}}> ()
      m = Constant <value = int64[1] {{1000}}> ()
      s = Loop(n, b, e) <body = f (int64 i, bool c, seq(float[1000]) a) => (bool d, seq(float[1000]) o) {{
        d = Identity(c)  v = ConstantOfShape(m)  t = SequenceInsert(a, v)  {end}
      }}>
    }}"""
    limits = sx.RunLimits(run_bytes=200_000)
    start = [np.zeros(1000, np.float32)] * 5
    for end, count in (("o = SequenceErase(t, zero)", 500), ("o = Identity(t)", 30)):
        session = sx.Session(parse_model(text.format(end=end), opset=21), engine="reference", limits=limits)
        session.run({"n": np.array(count), "e": start})
    with pytest.raises(sx.LimitError, match="must hold at most 200000 bytes"):
        session.run({"n": np.array(500), "e": start})


@pytest.mark.parametrize("body", EDITS)
def test_elements_are_compared_with_their_declaration_once(body: str) -> None:
    text = TEXT.replace("int64[1]) a", "int64[N]) a").replace("int64[1]) {r", "int64[N]) {r")
    text = text.format(
        body=f"{body}  o2 = Identity(a2)  k = Identity(i)", results="o, seq(int64[N]) o2", second="e2"
    )
    session = sx.Session(parse_model(text, opset=21), engine="reference", shapes="strict")
    start = [np.array([number]) for number in START]
    with patch.object(DeclaredDims, "check", autospec=True, side_effect=DeclaredDims.check) as checks:
        session.run({"n": np.array(100), "e": start, "e2": start})
    assert 100 < checks.call_count < 3000


@pytest.mark.parametrize("insert", ["SequenceInsert(a, r, zero)", "SequenceInsert(a, r, last)"])
def test_an_inserted_element_is_compared_with_the_others(insert: str) -> None:
    text = """g (int64 n, seq(int64[M]) e) => (s) {{
      b = Constant <value = bool {{1}}> ()  zero = Constant <value = int64 {{0}}> ()
      last = Constant <value = int64 {{-1}}> ()  three = Constant <value = int64 {{3}}> ()
      first = Constant <value = int64[1] {{1}}> ()
      s = Loop(n, b, e) <body = f (int64 i, bool c, seq(int64[K]) a) => (bool d, seq(int64[K]) o) {{
        d = Identity(c)  k = Equal(i, three)  h = Cast <to = 7> (k)  z = Add(h, first)  r = ConstantOfShape(z)
        o = {insert}
      }}>
    }}"""
    model = parse_model(
        text.format(insert=insert).replace(
            "ConstantOfShape(z)", "ConstantOfShape <value = int64[1] {0}> (z)"
        ),
        opset=21,
    )
    session = sx.Session(model, engine="reference", shapes="strict")
    session.run({"n": np.array(3), "e": [np.array([7])]})
    with pytest.raises(
        sx.SardonyxError, match=r"dimension 'K' must have one length; got [12] in .* and [12] in"
    ):
        session.run({"n": np.array(4), "e": [np.array([7])]})


@pytest.mark.parametrize("position", [-3, 3])
def test_positions_outside_are_refused(position: int) -> None:
    elements: list[RuntimeValue] = [np.array([1])] * 2
    for sequence in (elements, PersistentSequence.of(elements)):
        with pytest.raises(sx.EvaluationError, match=f"position {position} lies outside of -2 to 1"):
            sequence_insert.evaluate(sequence, np.array([3]), np.array(position))
        assert len(sequence) == 2
