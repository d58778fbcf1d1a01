import numpy as np
import pytest

from cases import Case, assert_case, model_of
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_types,
    make_inference,
)
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import RuntimeValue

OP = "NonMaxSuppression"
# Boxes of 1 by 1: the first shares 2/3 with the second and 1/3 with the third, these two 7/13; the last is far away.
UNITS = f32([[[0, 0, 1, 1], [0, 0.2, 1, 1.2], [0, 0.5, 1, 1.5], [0, 9, 1, 10]]])
SCORES = f32([[[0.9, 0.75, 0.6, 0.95]]])
ALL = i64([9])


def selected(*rows: tuple[int, int, int]) -> Array:
    return i64(rows).reshape(-1, 3)


def nms(
    boxes: Array,
    scores: Array,
    *rest: RuntimeValue,
    result: Array,
    label: str,
    centered: int = 0,
    version: int = 11,
) -> Case:
    return Case(OP, version, [boxes, scores, *rest], [result], {"center_point_box": centered}, label)


HALF = selected((0, 0, 3), (0, 0, 0), (0, 0, 2))
CENTERS = f32([[[0.5, 0.5, 1, 1], [0.7, 0.5, 1, 1], [1, 0.5, 1, 1], [9.5, 0.5, 1, 1]]])
TWO_BOXES, TWO_SCORES = UNITS[:, [0, 2]], f32([[[0.5, 0.6]]])  # they share 1/3
NESTED = f32([[[0, 0, 1, 2], [0, 0, 1, 1]]])  # they share exactly 1/2

CASES = [
    *(nms(UNITS, SCORES, ALL, f32([0.5]), result=HALF, label="overlap", version=v) for v in (10, 11)),
    nms(UNITS, SCORES, ALL, result=selected((0, 0, 3), (0, 0, 0)), label="no overlap by default"),
    nms(UNITS, SCORES, ALL, f32(1), result=selected((0, 0, 3), (0, 0, 0), (0, 0, 1), (0, 0, 2)), label="any overlap"),
    nms(UNITS, SCORES, result=selected(), label="none by default"),
    nms(UNITS, SCORES, None, f32(0.5), result=selected(), label="none without a number"),
    nms(UNITS, SCORES, i64(0), f32(0.5), result=selected(), label="none requested"),
    nms(UNITS, SCORES, i64(2), f32(0.5), result=HALF[:2], label="at most two"),
    nms(UNITS, SCORES, ALL, f32(0.5), f32(0.75), result=HALF[:2], label="scores"),
    nms(UNITS, SCORES, ALL, f32(1), f32(0.9), result=selected((0, 0, 3), (0, 0, 0)), label="score at the threshold"),
    nms(UNITS, SCORES, ALL, None, f32(2), result=selected(), label="no score is enough"),
    nms(UNITS, -SCORES, ALL, f32(0.5), result=selected((0, 0, 2), (0, 0, 0), (0, 0, 3)), label="negative scores"),
    nms(NESTED, TWO_SCORES, ALL, f32(0.5), result=selected((0, 0, 1), (0, 0, 0)), label="overlap at the threshold"),
    nms(NESTED, TWO_SCORES, ALL, f32(0.499), result=selected((0, 0, 1)), label="overlap above the threshold"),
    nms(UNITS[..., [2, 1, 0, 3]], SCORES, ALL, f32(0.5), result=HALF, label="flipped in y"),
    nms(UNITS[..., [2, 3, 0, 1]], SCORES, ALL, f32(0.5), result=HALF, label="other corner first"),
    nms(CENTERS, SCORES, ALL, f32(0.5), result=HALF, label="centers", centered=1),
    nms(UNITS[:, [0, 0, 0]], SCORES[..., :3], ALL, f32(0.5), result=selected((0, 0, 0)), label="the same box"),
    nms(TWO_BOXES, f32([[[1, 1]]]), ALL, f32(0.5), result=selected((0, 0, 0), (0, 0, 1)), label="equal scores"),
    nms(TWO_BOXES, f32([[[1, 1]]]), i64(1), f32(0.5), result=selected((0, 0, 0)), label="the first of equal scores"),
    nms(UNITS[:, [0, 0]] * 0, TWO_SCORES, ALL, f32(0.5), result=selected((0, 0, 1), (0, 0, 0)), label="no area"),
    nms(TWO_BOXES, f32([[[1, 2], [2, 1]]]), i64(1), f32(0), result=selected((0, 0, 1), (0, 1, 0)), label="two classes"),
    nms(
        np.concatenate([TWO_BOXES, UNITS[:, [0, 3]]]), np.repeat(TWO_SCORES, 2, 0), ALL,
        result=selected((0, 0, 1), (1, 0, 1), (1, 0, 0)), label="two batches",
    ),
    nms(UNITS[:, :0], SCORES[..., :0], ALL, result=selected(), label="no boxes"),
    nms(UNITS[:0], SCORES[:0], ALL, result=selected(), label="no batches"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_overlap_is_the_same_wherever_the_boxes_are() -> None:
    rng = np.random.default_rng(7)
    boxes, scores = (
        rng.integers(0, 64, (1, 40, 4)).astype(np.float32),
        rng.random((1, 3, 40)).astype(np.float32),
    )
    model = model_of(nms(boxes, scores, ALL, f32(0.25), result=selected(), label=""))

    def run(moved: Array) -> list[object]:
        feeds: dict[str, RuntimeValue] = {"x0": moved, "x1": scores, "x2": ALL, "x3": f32(0.25)}
        (result,) = Interpreter(model).run(feeds).values()
        assert isinstance(result, np.ndarray)
        return list(result.tolist())

    assert len(run(boxes)) > 3
    assert run(boxes) == run(boxes - 32) == run(-boxes) == run(boxes[..., [1, 0, 3, 2]])


def test_what_does_not_fit_is_refused() -> None:
    def bad(*inputs: RuntimeValue) -> Case:
        return Case(OP, 11, inputs, [selected()])

    assert_refused(bad(UNITS[0], SCORES), r"boxes and scores must .*; got \[4, 4\] and \[1, 1, 4\]")
    assert_refused(bad(UNITS[..., :3], SCORES), r"boxes and scores must .*; got \[1, 4, 3\] and \[1, 1, 4\]")
    assert_refused(bad(UNITS, SCORES[0]), r"boxes and scores must .*; got \[1, 4, 4\] and \[1, 4\]")
    assert_refused(bad(UNITS, SCORES[..., :3]), "must agree in batch and n")
    assert_refused(bad(UNITS, np.repeat(SCORES, 2, 0)), "must agree in batch and n")
    assert_refused(bad(UNITS, SCORES, i64([1, 1])), "max_output_boxes_per_class must have one element; got 2")
    assert_refused(bad(UNITS, SCORES, i64(-1)), "max_output_boxes_per_class must be >= 0; got -1")
    assert_refused(bad(UNITS, SCORES, ALL, f32(1.5)), r"iou_threshold must be in \[0, 1\]; got 1\.5")


def test_number_of_boxes_is_a_new_size() -> None:
    (type,) = infer_types(make_inference(OP, 11, [floats(N, M, 4), floats(N, 3, M)]))
    assert str(type) == "int64[new0,3]"
    (type,) = infer_types(make_inference(OP, 10, [TensorType(FLOAT), None]))
    assert str(type) == "int64[new0,3]"


def test_shapes_that_contradict_each_other_are_found() -> None:
    assert_contradiction(
        make_inference(OP, 11, [floats(N, 4), floats(N, 3, M)]), "boxes must have rank 3; got rank 2"
    )
    assert_contradiction(
        make_inference(OP, 11, [floats(N, M, 4), floats(N)]), "scores must have rank 3; got rank 1"
    )
    assert_contradiction(make_inference(OP, 11, [floats(N, M, 5), None]), "the numbers of a box")
    assert_contradiction(make_inference(OP, 11, [floats(N, 7, 4), floats(N, 3, 8)]), "numbers of boxes")
    assert_contradiction(make_inference(OP, 11, [floats(2, M, 4), floats(3, 3, M)]), "batches")
