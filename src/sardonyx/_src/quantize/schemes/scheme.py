"""What a scheme of quantization gets and gives: a model and calibration data, and the model that it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias, TypeVar

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.report.report import KeptLayer, LayerReport

T = TypeVar("T")
# Layers that shared a weight share its integers.
SHARING = ("merge-initializers",)


@dataclass(frozen=True, slots=True)
class LayerPatterns:
    """Which layers are quantized, by patterns of their names (`*` and `?`, as of files).

    nodes: of the layers that are; of all without any.
    exclude: of those that are not.
    """

    nodes: Sequence[str] = ()
    exclude: Sequence[str] = ()

    def why_not(self, names: Sequence[str]) -> str:
        """Why a layer of these names stays as it is; "" if it does not."""
        if self.nodes and not matches(names, self.nodes):
            return "no pattern of nodes names it"
        return "it is excluded" if matches(names, self.exclude) else ""


@dataclass(frozen=True, slots=True)
class SchemeSettings:
    """What was asked for.  An option that is None was not given: the scheme has a default for it, or does not have it.

    scheme: its name.
    patterns: the layers.
    force: whether to quantize layers that this slows down on this machine.
    progress: called with the number of steps that are done, and of all.
    """

    scheme: str
    patterns: LayerPatterns
    force: bool
    progress: Callable[[int, int], None]
    algorithm: str | None = None
    block: int | None = None
    symmetric: bool | None = None
    ranges: str | None = None
    activations: str | None = None
    equalize: str | None = None
    bias_correction: bool | None = None
    format: str | None = None
    pairs: str | None = None
    accuracy: float | None = None
    metric: str | Callable[[Sequence[Mapping[str, RuntimeValue]]], float] | None = None
    resume: str | None = None
    outliers: float | None = None
    size: float | None = None
    signal_to_noise: float | None = None
    latency: float | None = None
    keep_types: bool | None = None
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class SchemeResult:
    """What a scheme made of a model.

    model: the changed copy.
    layers: the layers that were quantized; none if the model was not changed.
    kept: the layers that stay as they are, and why.
    title: the scheme with its settings, as the report names it.
    """

    model: Model
    layers: Sequence[LayerReport]
    kept: Sequence[KeptLayer]
    title: str


# Gets a model of at least the operator set of the scheme's entry in the table, and leaves it as it is.
Scheme: TypeAlias = Callable[[Model, CalibrationData, SchemeSettings], SchemeResult]


def or_default(option: T | None, default: T) -> T:
    """The value of an option; the default if it was not given."""
    return default if option is None else option


def matches(names: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def require_finite(name: str, what: str, numbers: Array) -> None:
    """Raises InputError for infinities and NaN, which have no range."""
    if not np.isfinite(numbers).all():
        raise InputError(
            f"{what} must be finite numbers; got infinities or NaN: exclude the layer", name=name
        )
