import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import TensorType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.image_scaler import infer

X = np.array([[[[1, 2]], [[3, 4]]]])  # [N=1, C=2, H=1, W=2]
SCALED = np.array([[[[2.5, 4.5]], [[5, 7]]]])

CASES = [
    *(Case("ImageScaler", 1, [X.astype(t)], [SCALED.astype(t)], {"scale": 2.0, "bias": [0.5, -1.0]})
      for t in (np.float32, np.float64, np.float16)),
    Case("ImageScaler", 1, [X.astype(np.float32)], [2 * X.astype(np.float32)], {"scale": 2.0}, "no bias"),
    Case("ImageScaler", 1, [X.astype(np.float32)], [X.astype(np.float32)], label="defaults"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_a_bias_is_given_for_each_channel() -> None:
    with pytest.raises(EvaluationError, match="bias must have 2 elements, one for each channel; got 3"):
        assert_case(Case("ImageScaler", 1, [X.astype(np.float32)], [X], {"bias": [1.0, 2.0, 3.0]}))


def test_images_have_rank_4() -> None:
    with pytest.raises(EvaluationError, match=r"\[N, C, H, W\]"):
        assert_case(Case("ImageScaler", 1, [np.ones((2, 2), np.float32)], [X]))
    with pytest.raises(InferenceError, match="rank 2"):
        infer(Inference("ImageScaler", 1, [TensorType(DataType.FLOAT, (2, 2))], [True], {}, 1))
