"""The clean cache: a violation is found after a valid record with a similar fingerprint."""

from __future__ import annotations

import pytest

from check.examples import model
from sardonyx._src.check import check


@pytest.mark.parametrize(
    ("good", "bad", "code"),
    [
        ("a = Add(x, x)", "b = Add(x, )", "SX204"),
        ("a = Add(x, x)", "b = Add(x)", "SX204"),
        ("a = Add(x, x)", "b = Add(x, x, x)", "SX203"),
        ("a = Abs(x)", "b = Abz(x)", "SX201"),
        ("a = Abs(x)", "b = com.example.Abs(x)", "SX032"),
        ("a = Abs(x)", "b, c = Abs(x)", "SX205"),
        ("a = Concat <axis = 0> (x)", "b = Concat <axis = 0> ()", "SX207"),
        ("a = Softmax <axis = 0> (x)", "b = Softmax <axes = 0> (x)", "SX211"),
        ("a = Softmax <axis = 0> (x)", "b = Softmax <axis = 0.5> (x)", "SX212"),
        ("a = Softmax <axis = 0> (x)", "axis = Softmax <axis = 0> (x)", "SX213"),
        ("a = Cast <to = 1> (x)", "b = Cast(x)", "SX210"),
        ("a = Abs(x)", "b = Softmax <axis: int = @k> (x)", "SX236"),
        (
            "a, b, c = BatchNormalization <training_mode = 1> (x4, w, w, w, w)",
            "d, e, f = BatchNormalization <training_mode = 0> (x4, w, w, w, w)",
            "SX208",
        ),
        (
            "a = Constant <value = float[2] {1, 2}> ()",
            "b = Constant <value = float[2] {1, 2, 3}> ()",
            "SX302",
        ),
        ("a = Constant <value = float[2] {1, 2}> ()", "b = Constant <value = float[-2] {1, 2}> ()", "SX301"),
        ("a = Constant <value = bool[1] {1}> ()", "b = Constant <value = bool[1] {2}> ()", "SX308"),
        ('a = Constant <value_string = "x"> ()', 'b = Constant <value_string = b"\\xff"> ()', "SX240"),
    ],
)
def test_a_violation_is_found_after_a_similar_record(good: str, bad: str, code: str) -> None:
    text = "g (float[2] x, float[1, 2, 3, 3] x4, float[2] w) => (float[2] y) {{ {} {} y = Abs(x) }}"
    assert code not in {d.rule for d in check(model(text.format(good, good))).diagnostics}
    assert code in {d.rule for d in check(model(text.format(good, bad))).diagnostics}
