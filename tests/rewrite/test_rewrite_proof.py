"""The proof: both models run, and the first wrong edit is named."""

from __future__ import annotations

import numpy as np
import pytest

from models import parse_model
from sardonyx._src.errors import OptimizationError
from sardonyx._src.ir import Model
from sardonyx._src.ir.model import clone
from sardonyx._src.rewrite.proof.compare import difference
from sardonyx._src.rewrite.proof.feeds import generate_feeds
from sardonyx._src.rewrite.proof.prove import prove
from sardonyx._src.rewrite.report import AppliedEdit, OptimizationReport

TEXT = "g (float[N,2] x) => (float[] y) { a = Neg(x) b = Abs(a) c = Exp(b) y = Sqrt(c) }"


def prove_equal(before: Model, after: Model) -> OptimizationReport:
    report = OptimizationReport(edits=[AppliedEdit(1, "some-pass", "Neg 'n'")])
    prove(before, after, lambda edits: after if edits else before, report, {})
    return report


def test_equal_models_agree_on_several_sets_of_inputs() -> None:
    assert prove_equal(parse_model(TEXT), parse_model(TEXT)).proved == 4


def test_the_first_wrong_edit_is_found() -> None:
    """The third of five edits replaces Abs by Neg."""
    before = parse_model(TEXT)
    wrong = parse_model(TEXT.replace("b = Abs(a)", "b = Neg(a)"))
    report = OptimizationReport(edits=[AppliedEdit(i, f"pass-{i}", f"node {i}") for i in range(1, 6)])
    request: list[int] = []

    def rebuild(edits: int) -> Model:
        request.append(edits)
        return clone(wrong if edits >= 3 else before)

    with pytest.raises(OptimizationError, match=r"edit 3 \(pass-3 at node 3\) changes results") as caught:
        prove(before, wrong, rebuild, report, {})
    assert (caught.value.edit, caught.value.name, caught.value.place) == (3, "pass-3", "node 3")
    assert len(request) <= 3


def test_a_model_that_fails_afterwards_is_no_equal() -> None:
    after = parse_model("g (float[N,2] x) => (float[] y) <int64[1] s = {7}> { y = Reshape(x, s) }")
    with pytest.raises(OptimizationError, match="it fails"):
        prove_equal(parse_model("g (float[N,2] x) => (float[] y) { y = Neg(x) }"), after)


def test_what_holds_for_one_size_alone_is_found_out() -> None:
    before = parse_model("g (float[N] x) => (int64[] y) { y = Shape(x) }")
    after = parse_model("g (float[N] x) => (int64[] y) { y = Constant<value = int64[1] {2}>() }")
    with pytest.raises(OptimizationError, match=r"element \[0\]: expected 3; got 2"):
        prove_equal(before, after)


def test_sizes_that_the_original_refuses_are_tried_again_with_others() -> None:
    text = "g (float[N] x) => (float[] y) <int64[2] s = {16, 1}> { y = Reshape(x, s) }"
    assert prove_equal(parse_model(text), parse_model(text)).proved == 1


def test_what_no_inputs_make_run_is_not_proved() -> None:
    text = "g (float[2] x) => (float[] y) <int64[1] s = {7}> { y = Reshape(x, s) }"
    report = prove_equal(parse_model(text), parse_model(text))
    assert report.proved == 0 and "Reshape" in report.unproved


def test_draws_must_fit_type_and_shape() -> None:
    text = "g (float[N] x) => (float[] y, float[] z) { a = RandomNormalLike(x) y = Add(a, x) z = Neg(x) }"
    assert prove_equal(parse_model(text), parse_model(text)).proved == 4
    wrong = parse_model(text.replace("Neg", "Abs"))
    with pytest.raises(OptimizationError, match="output 'z'"):
        prove_equal(parse_model(text), wrong)


def test_made_up_inputs_are_the_same_in_every_run() -> None:
    original = parse_model(
        "g (float[N,M] x, int32[N] i, string[2] s, bool[M] b) => (float[] y) { y = Neg(x) }"
    )
    first, second = ([feeds.values for feeds in generate_feeds(original, {})] for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert not any(difference(a[name], b[name]) for name in a)
    sizes = {np.shape(feeds["x"]) for feeds in first}  # type: ignore[arg-type]
    assert {(2, 2), (3, 3), (1, 1), (7, 7)} <= sizes and any(n != m for n, m in sizes)
    assert all(np.shape(feeds["i"])[0] == np.shape(feeds["x"])[0] for feeds in first)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("actual", "expected", "equal"),
    [
        (np.array([1, 2], np.float32), np.array([1, 2.00001], np.float32), True),
        (np.array([1, 2], np.float32), np.array([1, 2.001], np.float32), False),
        (
            np.array([1e6, 1], np.float32),
            np.array([1e6, 2], np.float32),
            True,
        ),  # what is left of a difference of large numbers
        (np.array([np.nan, np.inf], np.float32), np.array([np.nan, np.inf], np.float32), True),
        (np.array([np.nan], np.float32), np.array([0], np.float32), False),
        (np.array([np.inf], np.float32), np.array([-np.inf], np.float32), False),
        (np.array([1], np.int64), np.array([2], np.int64), False),
        (np.array([1], np.int64), np.array([1], np.int32), False),
        (np.array([[1]], np.float32), np.array([1], np.float32), False),
        ([np.array([1], np.int64)], [np.array([1], np.int64), np.array([1], np.int64)], False),
        ({"a": np.array([1], np.int64)}, {"a": np.array([1], np.int64)}, True),
        (np.array(["a"], object), np.array(["b"], object), False),
        (None, None, True),
        (None, np.array([1], np.int64), False),
    ],
)
def test_what_counts_as_equal(actual: object, expected: object, equal: bool) -> None:
    assert (difference(actual, expected) == "") is equal  # type: ignore[arg-type]


def test_inputs_for_which_the_original_breaks_its_word_prove_nothing() -> None:
    before = parse_model("g (float[?] x) => (float[3] y) { y = Neg(x) }")
    after = parse_model("g (float[?] x) => (float[3] y) <int64[1] s = {3}> { a = Neg(x) y = Reshape(a, s) }")
    assert prove_equal(before, after).proved == 2  # those of length 3


def test_a_draw_that_happens_to_come_out_the_same_is_a_draw() -> None:
    text = "g (float[N] x) => (bool[] y) { p = Sigmoid(x) y = Bernoulli<dtype = 9>(p) }"
    after = parse_model("g (float[N] x) => (bool[] y) <float q = {0.5}> { p = Sigmoid(x) y = Greater(p, q) }")
    assert prove_equal(parse_model(text), after).proved == 4


def test_a_dropout_that_draws_nothing_is_compared() -> None:
    before = parse_model("g (float[N] x) => (float[] y) { y = Dropout(x) }")
    with pytest.raises(OptimizationError, match="output 'y'"):
        prove_equal(before, parse_model("g (float[N] x) => (float[] y) { y = Neg(x) }"))
