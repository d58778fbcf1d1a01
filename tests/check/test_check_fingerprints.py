"""The clean cache: a violation is found after a valid record with a similar fingerprint."""

from __future__ import annotations

import pytest

from check.examples import model
from sardonyx._src.check import check
from sardonyx._src.check.driver.checking import GROUPS
from sardonyx._src.check.engine.walk import NODE_BLOCK
from sardonyx._src.proto.messages import ModelProto, OperatorSetIdProto


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
        (
            "a = Gemm <transA = 1> (w2, w2)",
            "b = Gemm <transA = 2> (w2, w2)",
            "SX224",
        ),
        (
            'a = MaxPool <kernel_shape = [1, 1], auto_pad = "NOTSET", pads = [0, 0, 0, 1]> (x4)',
            'b = MaxPool <kernel_shape = [1, 1], auto_pad = "VALID", pads = [0, 0, 0, 1]> (x4)',
            "SX223",
        ),
        ('a = Constant <value_string = "x"> ()', 'b = Constant <value_string = b"\\xff"> ()', "SX240"),
    ],
)
def test_a_violation_is_found_after_a_similar_record(good: str, bad: str, code: str) -> None:
    text = "g (float[2] x, float[1, 2, 3, 3] x4, float[2] w, float[2, 2] w2) => (float[2] y) {{ {} {} y = Abs(x) }}"
    assert code not in {d.rule for d in check(model(text.format(good, good)), select=GROUPS).diagnostics}
    assert code in {d.rule for d in check(model(text.format(good, bad)), select=GROUPS).diagnostics}


@pytest.mark.parametrize("place", [0, 1, NODE_BLOCK - 1, NODE_BLOCK, 2 * NODE_BLOCK + 5, 3 * NODE_BLOCK])
def test_a_violation_is_found_among_blocks_of_clean_nodes(place: int) -> None:
    record = chain(3 * NODE_BLOCK + 1)
    assert record.graph is not None
    record.graph.node[place].op_type = "Abz"
    located = [d.location for d in check(record, select=GROUPS).diagnostics if d.rule == "SX201"]
    assert len(located) == 1
    assert located[0].startswith(f"graph.node[{place}]")


def test_text_that_is_not_utf8_is_found_in_a_block_of_clean_nodes() -> None:
    record = chain(2 * NODE_BLOCK)
    assert record.graph is not None
    record.graph.node[NODE_BLOCK + 7].name = "\udcff"
    assert [d.location for d in check(record, select=GROUPS).diagnostics if d.rule == "SX002"] != []


def test_a_constant_of_another_type_is_found_after_one_of_an_allowed_type() -> None:
    text = "g (float[2] x) => (float[2] y) {{ a = Constant <value = float[1] {{1}}> () {} y = Abs(x) }}"
    record = model(text.format("b = Constant <value = float8e4m3fn[1] {1}> ()"))
    record.opset_import = [OperatorSetIdProto(version=13)]
    assert "SX222" in {d.rule for d in check(record, select=GROUPS).diagnostics}


def chain(count: int) -> ModelProto:
    """Nodes of two operators in turn, each of which reads the one before."""
    names = ["x", *(f"v{i}" for i in range(count - 1)), "y"]
    nodes = (f"{names[i + 1]} = {('Abs', 'Neg')[i % 2]}({names[i]})" for i in range(count))
    return model(f"g (float[2] x) => (float[2] y) {{ {' '.join(nodes)} }}")
