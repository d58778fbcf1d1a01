"""Assumptions of specialized programs as JSON: a list of rounds (`specialization/compilation.py`), each a list of pairs.

A pair is one of
- the output of an If, and whether it takes its then_branch;
- a value, and its rank;
- an input, and its elements: their type, their shape, and their bytes in hexadecimal.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.compile.program.steps.assumptions import (
    MAX_PARAMETER_ELEMENTS,
    Assumption,
    Assumptions,
    BranchTaken,
    ElementsObserved,
    RankObserved,
)
from sardonyx._src.runtime.saved_programs.container import (
    Json,
    expect_integer,
    expect_list,
    expect_string,
    require,
)

MAX_RANK = 64


def encode_assumptions(assumptions: Assumptions) -> Json:
    return [[encode_assumption(a) for a in sorted(round_, key=str)] for round_ in assumptions]


def encode_assumption(assumption: Assumption) -> Json:
    match assumption:
        case BranchTaken(output, is_then):
            return [output, is_then]
        case RankObserved(value, rank):
            return [value, rank]
        case ElementsObserved(input, dtype, shape, data):
            return [input, [dtype, list(shape), data.hex()]]


def decode_assumptions(entry: Json) -> Assumptions:
    """The assumptions; raises DecodeError for JSON that `encode_assumptions` cannot have returned."""
    return tuple(frozenset(map(decode_assumption, expect_list(round_))) for round_ in expect_list(entry))


def decode_elements(name: str, entry: Json) -> ElementsObserved:
    dtype, shape, data = expect_list(entry, 3)
    element_type = np.dtype(expect_string(dtype))
    dims = tuple(expect_integer(dim, MAX_PARAMETER_ELEMENTS) for dim in expect_list(shape))
    elements = bytes.fromhex(expect_string(data))
    count = math.prod(dims)
    require(
        element_type.kind in "biuf" and len(elements) == count * element_type.itemsize, "elements are damaged"
    )
    return ElementsObserved(name, element_type.name, dims, elements)


def decode_assumption(entry: Json) -> Assumption:
    name, assumed = expect_list(entry, 2)
    if isinstance(assumed, bool):
        return BranchTaken(expect_string(name), is_then=assumed)
    if isinstance(assumed, list):
        return decode_elements(expect_string(name), assumed)
    return RankObserved(expect_string(name), expect_integer(assumed, MAX_RANK))
