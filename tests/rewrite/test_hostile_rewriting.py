"""Optimizing any model yields a valid model with the same results, or raises a SardonyxError."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

import pytest

import sardonyx as sx
from models import parse_record
from mutations import mutated_bytes, mutated_records
from rewrite.test_random_graphs import ValueGenerator
from runtime.test_hostile_models import SEEDS
from sampling import seed_range
from sardonyx._src.errors import OptimizationError, SardonyxError
from sardonyx._src.io.serde.to_proto import model as to_record
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto.binary import encode

HUGE = "s = Constant <value_ints = [1099511627776]> ()"
MODELS = [*SEEDS, *(encode(to_record(ValueGenerator(seed).model())) for seed in range(8))]


@pytest.mark.parametrize(
    "nodes",
    [
        f"{HUGE}  y = ConstantOfShape(s)",
        f"{HUGE}  z = Expand(x, s)  y = Add(z, x)",
        f"{HUGE}  y = Tile(x, s)",
        "a = Constant <value_int = 0> ()  c = Constant <value_int = 1> ()  b = Neg(m)  y = Range(a, b, c)",
    ],
)
def test_results_too_large_for_memory_are_not_folded(nodes: str) -> None:
    original = sx.load(
        parse_record(f"g (float[1] x) => (y) <int64 m = {{-9223372036854775807}}> {{ {nodes} }}")
    )
    result = sx.optimize(original, growth=1 << 62)
    assert [n.op_type for n in result.graph.nodes][-1] == [n.op_type for n in original.graph.nodes][-1]


@pytest.mark.parametrize("seed", seed_range(0, 4))
@pytest.mark.parametrize("mutated", [mutated_bytes, mutated_records])
def test_a_malformed_model_is_optimized_soundly_or_rejected(
    mutated: Callable[[bytes, random.Random], bytes], seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(120):
        with contextlib.suppress(SardonyxError):
            original = sx.load(mutated(rng.choice(MODELS), rng))
            try:
                verify(sx.optimize(original, verify=True, debug=True))
            except OptimizationError as error:
                raise AssertionError(f"{error}\n{sx.to_text(original)}") from error
