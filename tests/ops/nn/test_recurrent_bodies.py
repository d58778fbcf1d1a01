"""The bodies of LSTM, GRU and RNN: all cases of these operators, in their newest versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from body_types import assert_body_types, assert_body_without_sizes
from cases import Case, assert_case
from ops.nn import test_gru, test_lstm, test_rnn

CASES = [
    replace(case, version=22)
    for module in (test_lstm, test_gru, test_rnn)
    for values in vars(module).values()
    if isinstance(values, list)
    for case in values
    if isinstance(case, Case) and case.version >= 14
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bodies_compute_what_kernels_do(case: Case) -> None:
    assert_case(case)
    assert_body_types(case)
    assert_body_without_sizes(case, ())
