"""Parameters of kernels: slots by name, and a last parameter that stands for several slots."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.compile.codegen import Parameters, float32_bits

PARAMETERS = Parameters("x", "rows", "dims*")


def test_arguments_are_packed_in_the_order_of_the_slots() -> None:
    assert PARAMETERS.pack(dims=(3, 4, 5), rows=2, x=1) == (1, 2, 3, 4, 5)


def test_a_slot_of_a_starred_parameter_has_the_name_that_printers_show() -> None:
    names = PARAMETERS.slot_names(5)
    assert names == ("x", "rows", "dims[0]", "dims[1]", "dims[2]")
    assert [PARAMETERS.index(name) for name in names] == [0, 1, 2, 3, 4]
    assert PARAMETERS.index("dims") == 2


@pytest.mark.parametrize(
    ("name", "message"), [("columns", "must be one of x, rows"), ("rows[1]", "only a parameter with a star")]
)
def test_unknown_parameters_are_rejected(name: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        PARAMETERS.index(name)


def test_a_float_is_passed_by_its_bits() -> None:
    assert float32_bits(0.1) == np.float32(0.1).view(np.int32)
