"""Assumptions in the documents of saved programs: a list of rounds, each a list of pairs.

A pair is the output of an If and whether it takes its then_branch, or a value and its rank.
"""

from __future__ import annotations

from sardonyx._src.compile.program.assumptions import Assumption, Assumptions, BranchTaken, RankObserved
from sardonyx._src.runtime.saved_programs.container import (
    Json,
    expect_integer,
    expect_list,
    expect_string,
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


def decode_assumptions(entry: Json) -> Assumptions:
    """Raises DecodeError for what `encode_assumptions` cannot have returned."""
    return tuple(frozenset(map(decode_assumption, expect_list(round_))) for round_ in expect_list(entry))


def decode_assumption(entry: Json) -> Assumption:
    name, assumed = expect_list(entry, 2)
    if isinstance(assumed, bool):
        return BranchTaken(expect_string(name), is_then=assumed)
    return RankObserved(expect_string(name), expect_integer(assumed, MAX_RANK))
