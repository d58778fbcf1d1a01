"""Random models give the same under the newest operator set and under each earlier one that can express them."""

from __future__ import annotations

import numpy as np
import pytest

from convert.random_models import Draft, drafted
from sardonyx._src.convert.converter import convert
from sardonyx._src.errors import ConversionError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.verify import verify

OPSETS = (1, 6, 8, 10, 12, 17)
EACH = 60
NEWEST = 28


def results(one: Model, draft: Draft) -> list[Array]:
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in Interpreter(one).run(draft.feeds()).values()]


@pytest.mark.parametrize("opset", OPSETS)
def test_random_models_hold_up_and_down(opset: int) -> None:
    held = 0
    for seed in range(EACH):
        draft = drafted(EACH * opset + seed, opset)
        if not draft.results:
            continue
        one = draft.model()
        expected = results(one, draft)
        for target in (NEWEST, *(n for n in OPSETS if n < opset)):
            try:
                other = convert(one, target)
            except ConversionError:
                assert target < opset, f"seed {seed}"
                continue
            verify(other)
            for found, wanted in zip(results(other, draft), expected, strict=True):
                message = f"seed {seed}, from {opset} to {target}"
                np.testing.assert_allclose(found, wanted, 1e-4, 1e-5, err_msg=message, strict=True)
            held += 1
    assert held > EACH / 2
