"""The options of static int8, checked, with their defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sardonyx._src.arguments import require_choice, require_flag, require_type
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.quantize.accuracy.metrics import METRICS, Outputs
from sardonyx._src.quantize.ranges.table import RANGES
from sardonyx._src.quantize.schemes.scheme import SchemeSettings, or_default

ACTIVATIONS: Mapping[str, DataType] = {"uint8": DataType.UINT8, "int8": DataType.INT8}
EQUALIZATIONS = ("smooth", "cross-layer")
FORMATS = ("qdq", "qoperator")
PAIRS = ("fused", "all")


@dataclass(frozen=True, slots=True)
class StaticOptions:
    """How a model is quantized to static int8.

    ranges: a name of the table of ranges.
    pairs: "fused": at the operands of layers only; "all": at the results of layers, too.
    accuracy: the bound on the loss; None for none.  metric: how it is measured.  resume: the file of losses.
    """

    ranges: str
    activations: str
    equalize: str | None
    bias_correction: bool
    format: str
    pairs: str
    accuracy: float | None
    metric: str | Callable[[Outputs], float]
    resume: str | None

    @classmethod
    def of(cls, settings: SchemeSettings, *, is_random: bool) -> StaticOptions:
        """The settings, checked, with their defaults; biases are corrected with real data only."""
        options = cls(
            or_default(settings.ranges, "min-max"),
            or_default(settings.activations, "uint8"),
            settings.equalize,
            or_default(settings.bias_correction, not is_random),
            or_default(settings.format, "qdq"),
            or_default(settings.pairs, "fused"),
            settings.accuracy,
            "mse" if settings.metric is None else settings.metric,
            settings.resume,
        )
        options.check()
        return options

    def check(self) -> None:
        require_choice("ranges", self.ranges, tuple(RANGES))
        require_choice("activations", self.activations, tuple(ACTIVATIONS))
        require_choice("format", self.format, FORMATS)
        require_choice("pairs", self.pairs, PAIRS)
        require_flag("bias_correction", self.bias_correction)
        if self.equalize is not None:
            require_choice("equalize", self.equalize, EQUALIZATIONS)
        if not callable(self.metric):
            require_choice("metric", self.metric, METRICS)
        if self.resume is not None:
            require_type("resume", self.resume, str, "the path of a file")
        if self.accuracy is not None:
            require_type("accuracy", self.accuracy, (int, float), "a number")
            if not (np.isfinite(self.accuracy) and self.accuracy >= 0):
                raise InputError(f"accuracy must be at least 0; got {self.accuracy}", name="accuracy")

    @property
    def dtype(self) -> DataType:
        return ACTIVATIONS[self.activations]

    @property
    def is_operator_form(self) -> bool:
        return self.format == "qoperator"

    @property
    def results_too(self) -> bool:
        return self.is_operator_form or self.pairs == "all"

    @property
    def title(self) -> str:
        parts = ["int8", f"{self.activations} activations", f"ranges by {self.ranges}"]
        if self.equalize:
            parts.append(f"{self.equalize} equalization")
        if self.bias_correction:
            parts.append("bias correction")
        if self.is_operator_form:
            parts.append("operator form")
        elif self.results_too:
            parts.append("pairs at all layers")
        return ", ".join(parts)
