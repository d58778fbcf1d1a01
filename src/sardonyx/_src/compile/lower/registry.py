"""Registry of lowerings: for each kind of region, the function that returns its kernel calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.partition.regions.registry import OPERATOR_INDEX
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import Action

C = TypeVar("C")
Lower: TypeAlias = Callable[[LaidOutRegion[C], Lowering], Step | Sequence[Action]]
# Each function is called only for regions of its kind, and so with a config of the type that it expects.
LOWERINGS: dict[str, Lower[Any]] = {}


def lowers(kind: str) -> Callable[[Lower[C]], Lower[C]]:
    """Registers the function that lowers the regions of a kind.

    The function returns the only step of a region, or all of its steps in order.  It must accept every region of the
    kind: the matcher refuses nodes that are not supported.
    """

    def add(lower: Lower[C]) -> Lower[C]:
        assert kind not in LOWERINGS, f"{kind} has two lowerings"
        LOWERINGS[kind] = lower
        return lower

    return add


def lowering_of(kind: str) -> Lower[Any]:
    """The lowering of a kind of region."""
    OPERATOR_INDEX.import_for(kind)
    return LOWERINGS[kind]


def user_lowerings() -> tuple[object, ...]:
    """The kinds and functions of lowerings that a caller registered or replaced, as parts of a cache key."""
    ours = f"{OPERATOR_INDEX.package}."
    changed = [
        (kind, lower) for kind, lower in list(LOWERINGS.items()) if not lower.__module__.startswith(ours)
    ]
    return tuple(part for pair in changed for part in pair)
