"""Equality of sizes under guards, compared with the values of the sizes."""

from __future__ import annotations

import itertools

import pytest

from sardonyx._src.compile.program import Guard
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.ir.dims import Known, dim_max, dim_min, evaluate, symbol

H, W, N, M = (symbol(name) for name in "HWNM")
HALVED = 2 * ((H - 1) // 2) + 2
GUARDS = {
    "a number": Guard(N, 64),
    "a symbol": Guard(N, M),
    "twice a size": Guard(2 * N, 2 * M + 4),
    "a rounded size": Guard(HALVED, H),
    "a bound": Guard(dim_min(N, 8), N),
    "a maximum": Guard(dim_max(N, M), M),
    "a product": Guard(N * M, H * W),
    "a broadcast": Guard((N - M) * (N - 1), 0),
}
SIZES: tuple[Known, ...] = (
    64, N, M, H, W, HALVED, N * W, M * W, HALVED * W * N, H * W * N, dim_min(N, 8), dim_max(N, M),
    (N + 3) // 2, (M + 3) // 2, 33, N * M, H * W, dim_max(N, 8), (HALVED + 1) // 2, (H + 1) // 2,
)  # fmt: skip
VALUES = [
    dict(zip("HWNM", values, strict=True)) for values in itertools.product((0, 1, 2, 5, 8, 64), repeat=4)
]


def holds(guard: Guard, values: dict[str, int]) -> bool:
    return evaluate(guard.left, values) == evaluate(guard.right, values)


@pytest.mark.parametrize("name", GUARDS)
def test_sizes_that_are_proved_to_be_equal_are(name: str) -> None:
    guard = GUARDS[name]
    facts = SizeFacts([guard])
    valid = [values for values in VALUES if holds(guard, values)]
    for a, b in itertools.combinations(SIZES, 2):
        if facts.are_equal(a, b):
            assert all(evaluate(a, values) == evaluate(b, values) for values in valid), f"{a} and {b}"
        if facts.is_broadcast(a, b):
            assert all(evaluate(a, values) in (1, evaluate(b, values)) for values in valid), f"{a} and {b}"


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("a number", N * W, 64 * W),
        ("a symbol", (N + 3) // 2, (M + 3) // 2),
        ("twice a size", (N + 3) // 2, (M + 5) // 2),
        ("a rounded size", HALVED * W * N, H * W * N),
        ("a bound", dim_min(N, 8) * W, N * W),
        ("a maximum", dim_max(N, M), M),
        ("a number", dim_max(N, 8), 64),
        ("a product", N * M, H * W),
    ],
)
def test_guards_prove_equality(name: str, a: Known, b: Known) -> None:
    assert SizeFacts([GUARDS[name]]).are_equal(a, b)
    assert not SizeFacts([]).are_equal(a, b)


def test_several_guards_are_combined() -> None:
    facts = SizeFacts([Guard(N, M), Guard(M, 64), Guard(dim_min(H, N), H)])
    assert facts.are_equal(N, 64)
    assert facts.are_equal(dim_min(H, 64), H)


def test_a_guard_of_a_broadcast_proves_it() -> None:
    facts = SizeFacts([GUARDS["a broadcast"]])
    assert facts.is_broadcast(N, M)
    assert not facts.are_equal(N, M)
    assert not facts.is_broadcast(M, N)
