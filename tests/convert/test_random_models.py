"""Property: random models compute the same in the newest opset and in each earlier one that can express them."""

from __future__ import annotations

import numpy as np
import pytest

from convert.random_models import Draft, draft_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import ConversionError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.verify import verify

OPSETS = (1, 6, 8, 10, 12, 17)
EACH = 60
NEWEST_IR_VERSION = 28


def results(original: Model, draft: Draft) -> list[Array]:
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in Interpreter(original).run(draft.feeds()).values()]


@pytest.mark.parametrize("opset", OPSETS)
def test_random_models_hold_up_and_down(opset: int) -> None:
    held = 0
    for seed in range(EACH):
        draft = draft_model(EACH * opset + seed, opset)
        if not draft.results:
            continue
        original = draft.model()
        expected = results(original, draft)
        for target in (NEWEST_IR_VERSION, *(n for n in OPSETS if n < opset)):
            try:
                other = convert(original, target)
            except ConversionError:
                assert target < opset, f"seed {seed}"
                continue
            verify(other)
            for result, requested in zip(results(other, draft), expected, strict=True):
                message = f"seed {seed}, from {opset} to {target}"
                np.testing.assert_allclose(result, requested, 1e-4, 1e-5, err_msg=message, strict=True)
            held += 1
    assert held > EACH / 2
