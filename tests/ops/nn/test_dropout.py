import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from cases import Case, assert_case, model_of
from ops.tensor.operator_facets import FLOAT, N, assert_refused, f32, floats, infer_types, make_inference
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, TensorType

X = f32([1, -2, np.inf])
YES, NO = np.array(True), np.array(False)
KEPT = np.ones(3, np.bool_)
MANY = np.ones(40_000, np.float32)
BF = ml_dtypes.bfloat16
EIGHT = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]

CASES = [
    Case("Dropout", 1, [X], [X, np.ones(3, np.float32)], {"is_test": 1, "consumed_inputs": [0]}),
    Case("Dropout", 6, [X], [X, np.ones(3, np.float32)], {"is_test": 1}),
    Case("Dropout", 6, [X], [X, np.ones(3, np.float32)], {"ratio": 0.0}, "nothing to drop"),
    Case("Dropout", 1, [MANY], [..., ...], {"consumed_inputs": [0]}, "training"),
    Case("Dropout", 6, [MANY], [..., ...], {}, "training"),
    Case("Dropout", 7, [X], [X, np.ones(3, np.float32)]),
    Case("Dropout", 7, [X.astype(np.float64)], [X.astype(np.float64), np.ones(3)], {"ratio": 0.9}),
    Case("Dropout", 10, [X], [X, KEPT]),
    *(Case("Dropout", v, [X], [X, KEPT]) for v in (12, 13, 22)),
    *(Case("Dropout", v, [X, f32(0.9)], [X, KEPT], label="inference") for v in (12, 13, 22)),
    *(Case("Dropout", v, [X, f32(0.9), NO], [X, KEPT], label="inference") for v in (12, 13, 22)),
    *(Case("Dropout", v, [X, f32(0), YES], [X, KEPT], {"seed": 3}, "nothing to drop") for v in (12, 13, 22)),
    *(Case("Dropout", v, [MANY, None, YES], [..., ...], label="training") for v in (12, 13, 22)),
    Case("Dropout", 13, [X.astype(BF)], [X.astype(BF), KEPT]),
    *(Case("Dropout", 22, [np.ones(2, d)], [np.ones(2, d), np.ones(2, np.bool_)]) for d in EIGHT),
    *(Case("Dropout", 22, [np.ones(9, d), np.array(0.5, d), YES], [..., ...], label="training") for d in EIGHT),
    Case("Dropout", 22, [np.zeros((0, 2), np.float32), None, YES], [np.zeros((0, 2), np.float32), np.ones((0, 2), np.bool_)]),
    Case("Dropout", 22, [f32(2)], [f32(2)], label="a scalar"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def run(version: int, data: Array, ratio: float, *, seed: int | None = None) -> tuple[Array, Array]:
    """Output and mask of one call in training."""
    if version >= 12:
        seeded = {} if seed is None else {"seed": seed}
        case = Case("Dropout", version, [data, f32(ratio), YES], [..., ...], seeded)
    else:
        legacy = {"consumed_inputs": [0]} if version == 1 else {}
        case = Case("Dropout", version, [data], [..., ...], {"ratio": ratio, **legacy})
    feeds = {f"x{i}": value for i, value in enumerate(case.inputs)}
    output, mask = Interpreter(model_of(case)).run(feeds).values()
    assert isinstance(output, np.ndarray)
    assert isinstance(mask, np.ndarray)
    return output, mask


@pytest.mark.parametrize("version", [1, 6, 12, 13, 22])
@pytest.mark.parametrize("ratio", [0.25, 0.5, 0.75])
def test_a_share_is_dropped_and_the_rest_scaled_up(version: int, ratio: float) -> None:
    output, mask = run(version, MANY, ratio)
    assert abs(1 - mask.mean(dtype=np.float64) - ratio) < 0.015  # six standard deviations of 40 000 draws
    assert np.array_equal(output, np.where(mask != 0, np.float32(1 / (1 - ratio)), 0))


@pytest.mark.parametrize("version", [1, 6])
def test_the_old_mask_has_the_type_of_the_data(version: int) -> None:
    output, mask = run(version, MANY.astype(np.float16), 0.5)
    assert output.dtype == np.float16
    assert mask.dtype == np.float16


def test_the_same_seed_drops_the_same() -> None:
    first, again, other = (run(13, MANY, 0.5, seed=s)[1] for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_without_seed_each_run_drops_others() -> None:
    assert not np.array_equal(run(13, MANY, 0.5)[1], run(13, MANY, 0.5)[1])


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("Dropout", 13, [X, f32(1), YES], [...]), r"ratio must be in \[0, 1\); got 1\.0"),
        (Case("Dropout", 13, [X, f32(-0.5), YES], [...]), r"ratio must be in \[0, 1\); got -0\.5"),
        (Case("Dropout", 13, [X, f32(np.nan), YES], [...]), r"ratio must be in \[0, 1\); got nan"),
        (Case("Dropout", 6, [X], [...], {"ratio": 1.0}), r"ratio must be in \[0, 1\); got 1\.0"),
        (Case("Dropout", 13, [X, f32([0.1, 0.2]), YES], [...]), r"ratio must be a scalar; got shape \[2\]"),
        (
            Case("Dropout", 13, [X, None, np.array([True, True])], [...]),
            r"training_mode must be a scalar; got shape \[2\]",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_mask_is_bool_from_10_on() -> None:
    assert infer_types(make_inference("Dropout", 7, [floats(N)], outputs=2)) == [floats(N), floats(N)]
    assert infer_types(make_inference("Dropout", 10, [floats(N)], outputs=2)) == [
        floats(N),
        TensorType(DataType.BOOL, (N,)),
    ]
    assert infer_types(make_inference("Dropout", 22, [None], outputs=2)) == [None, TensorType(DataType.BOOL)]
    assert infer_types(make_inference("Dropout", 22, [TensorType(FLOAT)])) == [TensorType(FLOAT)]


@pytest.mark.parametrize("target", [11, 9, 6])
def test_the_mask_of_inference_is_computed_below_version_12(target: int) -> None:
    """Versions 7 and 10 do not say what the mask is: a conversion must not leave it to the runtime."""
    model = sx.from_text("""<ir_version: 7, opset_import: ["" : 13]> g (float[3] x) => (float[3] y, bool[3] k) {
      y, k = Dropout(x) }""")
    converted = sx.convert(model, opset=target)
    assert all(
        node.op_type != "Dropout" or not any(v.name for v in node.outputs[1:])
        for node in converted.graph.nodes
    )
    x = np.array([0, 1, np.nan], np.float32)
    results = sx.Session(converted, engine="reference").run({"x": x})
    assert results["k"].tolist() == [True] * 3
    np.testing.assert_array_equal(results["y"], x)
