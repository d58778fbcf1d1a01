"""Subgraphs in `with` blocks: the same nodes as with functions, and errors at their lines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir.walk import nodes

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def outputs_of(b: sx.Builder, **outputs: object) -> dict[str, object]:
    model = b.model(**outputs)  # type: ignore[arg-type]  # operands
    assert sx.check(model).ok
    return dict(sx.Session(model, engine="reference").run({"x": X}))


def test_branches() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 3])
    with b.if_(b.ReduceMax(x, keepdims=0) > 4) as branches:
        with branches.then:
            half = x / 2
            branches.then.set_results(half, half + 1)
        with branches.else_:
            branches.else_.set_results(x, x)
    y, z = branches.results
    assert str(y.type) == "float[N,3]"
    values = outputs_of(b, y=y, z=z)
    np.testing.assert_array_equal(values["y"], X / 2)
    np.testing.assert_array_equal(values["z"], X / 2 + 1)


def test_a_loop_carries_and_collects() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 3])
    with b.loop(initial=[x], trip_count=4) as loop:
        (total,) = loop.carried
        loop.set_next(total + x, condition=loop.iteration < 2)
        loop.collect(b.ReduceSum(total, keepdims=0))
    final, sums = loop.results
    values = outputs_of(b, final=final, sums=sums)
    np.testing.assert_array_equal(values["final"], 4 * X)  # the condition is false in the third iteration
    np.testing.assert_array_equal(values["sums"], np.array([15, 30, 45], np.float32))


def test_a_scan_carries_and_collects() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 3])
    with b.scan(initial=[np.zeros(3, np.float32)], scan_inputs=[x]) as scan:
        (total,), (row,) = scan.carried, scan.slices
        scan.set_next(total + row)
        scan.collect(total + row)
    final, partial = scan.results
    values = outputs_of(b, final=final, partial=partial)
    np.testing.assert_array_equal(values["final"], X.sum(axis=0))
    np.testing.assert_array_equal(values["partial"], np.cumsum(X, axis=0))


def block_form(b: sx.Builder, x: sx.Operand) -> object:
    with b.loop(initial=[x], trip_count=2) as loop:
        with b.if_(loop.condition) as branches:
            with branches.then:
                branches.then.set_results(loop.carried[0] * 2)
            with branches.else_:
                branches.else_.set_results(x)
        loop.set_next(branches.results)
    return loop.results


def function_form(b: sx.Builder, x: sx.Operand) -> object:
    return b.loop(lambda i, c, s: (True, b.if_(c, lambda: s * 2, lambda: x)), x, trip_count=2)


def operators_of(form: Callable[[sx.Builder, sx.Operand], object]) -> list[str]:
    b = sx.Builder(21)
    model = b.model(y=form(b, b.input("x", "float32", [3])))  # type: ignore[arg-type]  # operands
    return [node.op_type for node in nodes(model.graph)]


def test_blocks_and_functions_make_the_same_nodes() -> None:
    assert sorted(operators_of(block_form)) == sorted(operators_of(function_form))


def test_the_condition_of_a_body_function_ends_the_loop() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 3])
    values = outputs_of(b, final=b.loop(lambda i, c, s: (i < 2, s + x), x, trip_count=4))
    np.testing.assert_array_equal(values["final"], 4 * X)


def without_results(b: sx.Builder, x: sx.Operand) -> None:
    with b.if_(True) as branches, branches.then:
        pass


def without_branch(b: sx.Builder, x: sx.Operand) -> None:
    with b.if_(True) as branches, branches.then:
        branches.then.set_results(x)


def of_other_counts(b: sx.Builder, x: sx.Operand) -> None:
    with b.if_(True) as branches:
        with branches.then:
            branches.then.set_results(x, x)
        with branches.else_:
            branches.else_.set_results(x)


def entered_twice(b: sx.Builder, x: sx.Operand) -> None:
    with b.if_(True) as branches:
        with branches.then:
            branches.then.set_results(x)
        with branches.then:
            pass


def results_too_early(b: sx.Builder, x: sx.Operand) -> None:
    with b.loop(initial=[x], trip_count=2) as loop:
        loop.set_next(loop.results)


def without_next(b: sx.Builder, x: sx.Operand) -> None:
    with b.loop(initial=[x], trip_count=2):
        pass


def too_many_carried(b: sx.Builder, x: sx.Operand) -> None:
    with b.loop(initial=[x], trip_count=2) as loop:
        loop.set_next(x, x)


def nothing_to_return(b: sx.Builder, x: sx.Operand) -> None:
    with b.loop(trip_count=2) as loop:
        loop.set_next()


def another_type(b: sx.Builder, x: sx.Operand) -> None:
    with b.loop(initial=[x], trip_count=2) as loop:
        loop.set_next(b.Concat(loop.carried[0], x, axis=0))


def in_another_block(b: sx.Builder, x: sx.Operand) -> None:
    with b.loop(initial=[x], trip_count=2) as loop, b.if_(True) as branches, branches.then:
        loop.set_next(x)


def never_entered(b: sx.Builder, x: sx.Operand) -> None:
    b.loop(initial=[x], trip_count=2)
    b.model(y=x)


def initial_with_a_function(b: sx.Builder, x: sx.Operand) -> None:
    b.loop(lambda i, c, s: (c, s), initial=[x])  # type: ignore[call-overload]


MISTAKES: list[tuple[Callable[[sx.Builder, sx.Operand], None], str]] = [
    (without_results, "then_branch must state its results; call set_results"),
    (without_branch, "else_branch is missing: write `with branches.else_:`"),
    (of_other_counts, "equally many results"),
    (entered_twice, "must be entered once"),
    (results_too_early, "exist after its `with` block"),
    (without_next, "call set_next"),
    (too_many_carried, "a value for each of 1 carried ones; got 2"),
    (nothing_to_return, "must carry values or collect some"),
    (
        another_type,
        r"must keep its type, float\[2\], in a `with` block; got float\[4\]: pass the body as a function",
    ),
    (in_another_block, "set_next must be called in the `with` block of loop"),
    (never_entered, "loop must be complete; enter and leave its `with` block first"),
    (initial_with_a_function, "initial belongs to a `with` block"),
]


@pytest.mark.parametrize(("mistake", "text"), MISTAKES, ids=[f.__name__ for f, _ in MISTAKES])
def test_mistakes_are_refused_and_leave_the_model_as_it_was(
    mistake: Callable[[sx.Builder, sx.Operand], None], text: str
) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2])
    with pytest.raises((sx.InputError, sx.InferenceError), match=text):
        mistake(b, x)
    assert [node.op_type for node in b.graph.nodes if node.op_type != "Identity"] == []


def test_an_exception_in_a_block_is_not_replaced() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2])
    with pytest.raises(ZeroDivisionError), b.loop(initial=[x], trip_count=2) as loop:
        loop.set_next(x + 1 // 0)
    assert len(b.model(y=x).graph.nodes) == 1
