"""Registry of lowerings: for each kind of region, the function that returns its kernel calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sardonyx._src.compile.partition.registry import OPERATOR_INDEX

if TYPE_CHECKING:
    from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
    from sardonyx._src.compile.lower.lowering import Lowering
    from sardonyx._src.compile.program.program import Action
    from sardonyx._src.compile.program.step import Step

C = TypeVar("C")
Lower: TypeAlias = "Callable[[LaidOutRegion[C], Lowering], Step | Sequence[Action]]"
LOWERINGS: dict[str, Lower[Any]] = {}  # each takes regions whose config has the type that its kind implies


def lowers(kind: str) -> Callable[[Lower[C]], Lower[C]]:
    """Registers the function that lowers the regions of a kind: it returns their only kernel call, or all of them in order.

    It accepts every region of the kind: what is not supported is refused by the matcher.
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
    """Lowerings that a caller registered or replaced, as parts of a cache key."""
    ours = f"{OPERATOR_INDEX.package}."
    changed = [
        (kind, lower) for kind, lower in list(LOWERINGS.items()) if not lower.__module__.startswith(ours)
    ]
    return tuple(part for pair in changed for part in pair)
