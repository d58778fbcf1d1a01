"""Conversion of Dropout and BatchNormalization, whose training modes changed."""

from __future__ import annotations

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from versions import convert_closely, convert_exactly, op_types

X = np.random.default_rng(5).normal(size=(4, 3, 2)).astype(np.float32)
PARAMETERS = {"s": [1.0, 2.0, 3.0], "b": [0.5, 0.0, -1.0], "m": [0.1, 0.2, 0.3], "v": [1.0, 2.0, 4.0]}
ALL = {name: np.array(values, np.float32) for name, values in PARAMETERS.items()}
FORMALS = "float[4,3,2] x, float[3] s, float[3] b, float[3] m, float[3] v"


def normalization(outputs: str, attributes: str = "", formals: str = FORMALS) -> str:
    named = ", ".join(f"float[] {name}" for name in outputs.split(", ") if name != '""')
    return (
        f"g ({formals}) => ({named}) {{ {outputs} = BatchNormalization<momentum = 0.75{attributes}>"
        "(x, s, b, m, v) }"
    )


def test_training_with_only_the_data_output_stays_training() -> None:
    up = convert_closely(normalization("y"), 6, 7, x=X, **ALL)
    assert len(only(up.graph, "BatchNormalization").outputs) == 5
    up = convert_closely(normalization("y"), 6, 15, x=X, **ALL)
    assert only(up.graph, "BatchNormalization").attributes["training_mode"].value == 1
    down = convert_closely(normalization("y", ", training_mode = 1"), 14, 6, x=X, **ALL)
    assert only(down.graph, "BatchNormalization").attributes["is_test"].value == 0


def test_inference_stays_inference() -> None:
    for old, new, attributes in ((6, 15, ", is_test = 1"), (15, 6, ""), (7, 15, ""), (9, 1, "")):
        convert_closely(normalization("y", attributes), old, new, x=X, **ALL)


def test_the_statistics_of_the_batch_are_running_ones_that_keep_nothing() -> None:
    up = convert_exactly(normalization("y, rm, rv, sm, sv"), 9, 14, x=X, **ALL)
    assert op_types(up).count("BatchNormalization") == 2
    convert_exactly(normalization("y, rm, rv", ", training_mode = 1"), 14, 9, x=X, **ALL)


def test_every_element_of_an_instance_becomes_a_channel() -> None:
    parameters = {name: np.stack([values, 2 * values], 1) for name, values in ALL.items()}
    formals = FORMALS.replace("float[3]", "float[3,2]")
    convert_exactly(normalization("y", ", spatial = 0", formals), 7, 9, x=X, **parameters)
    convert_exactly(normalization("y, rm, rv", ", spatial = 0", formals), 7, 9, x=X, **parameters)


def test_parameters_of_another_type_go_through_the_wider_one() -> None:
    formals = FORMALS.replace("float[4,3,2] x", "float16[4,3,2] x")
    text = normalization("y", "", formals).replace("float[] y", "float16[] y")
    down = convert_exactly(text, 15, 14, x=X.astype(np.float16), **ALL)
    assert op_types(down) == ["Cast"] * 3 + ["BatchNormalization", "Cast"]


# --- Dropout ---------------------------------------------------------------------------------


def convert_dropout(text: str, old: int, new: int, **feeds: object) -> list[Array]:
    arrays = {name: np.asarray(value) for name, value in feeds.items()}
    return [
        np.asarray(r)
        for r in Interpreter(convert(parse_model(text, opset=old), new), seed=4).run(arrays).values()
    ]


@pytest.mark.parametrize("new", [7, 10, 22])
def test_training_drops_and_scales_under_every_operator_set(new: int) -> None:
    text = "g (float[1000] x) => (float[1000] y, float[1000] kept) { y, kept = Dropout<ratio = 0.25>(x) }"
    y, kept = convert_dropout(text, 6, new, x=np.full(1000, 3, np.float32))
    assert kept.dtype == np.float32 and 700 < kept.sum() < 800
    np.testing.assert_array_equal(y, kept * np.float32(4))


@pytest.mark.parametrize("training", [False, True])
def test_training_mode_may_be_an_input(training: bool) -> None:
    text = "g (float[1000] x, float ratio, bool t) => (float[1000] y, bool[1000] kept) { y, kept = Dropout(x, ratio, t) }"
    feeds = {"x": np.full(1000, 3, np.float32), "ratio": np.float32(0.25), "t": training}
    y, kept = convert_dropout(text, 12, 11, **feeds)
    assert kept.dtype == np.bool_ and (700 < kept.sum() < 800 if training else kept.all())
    np.testing.assert_array_equal(y, np.where(kept, np.float32(4 if training else 3), 0))


def test_inference_drops_nothing() -> None:
    text = "g (float[3] x) => (float[3] y) { y = Dropout<is_test = 1>(x) }"
    assert op_types(convert(parse_model(text, opset=6), 22)) == ["Dropout"]
    text = "g (float[3] x) => (float[3] y) { r = Constant<value_float = 0.7>() y = Dropout<seed = 3>(x, r) }"
    assert only(convert(parse_model(text, opset=13), 6).graph, "Dropout").attributes["is_test"].value == 1
