"""Registry of control flow: for each kind of region with bodies, the function that assigns layouts to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.laid_out import LaidOutBody, LaidOutRegion
from sardonyx._src.compile.partition.regions.registry import OPERATOR_INDEX

C = TypeVar("C")
LayOutBodies: TypeAlias = "Callable[[LaidOutRegion[C], ConstantPool], Sequence[LaidOutBody]]"
# Each function is called only for regions of its kind, and so with a config of the type that it expects.
BODY_LAYOUTS: dict[str, LayOutBodies[Any]] = {}


def lays_out_bodies(kind: str) -> Callable[[LayOutBodies[C]], LayOutBodies[C]]:
    """Registers the function that assigns layouts to the bodies of the regions of a kind.

    The function receives a region that already has the tensors of its operands and results.
    """

    def add(lay_out: LayOutBodies[C]) -> LayOutBodies[C]:
        assert kind not in BODY_LAYOUTS, f"the bodies of {kind} are laid out twice"
        BODY_LAYOUTS[kind] = lay_out
        return lay_out

    return add


def lay_out_bodies(region: LaidOutRegion[object], constants: ConstantPool) -> tuple[LaidOutBody, ...]:
    """The bodies of a control-flow region, with layouts; empty for any other region."""
    OPERATOR_INDEX.import_for(region.region.kind)
    lay_out = BODY_LAYOUTS.get(region.region.kind)
    return () if lay_out is None else tuple(lay_out(region, constants))
