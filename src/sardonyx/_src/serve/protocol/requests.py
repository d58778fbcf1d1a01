"""Inference requests and responses in the form that all transports exchange with models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array

Parameter: TypeAlias = "bool | int | float | str"


@dataclass(slots=True)
class InferenceRequest:
    """One inference request.

    inputs: tensors by name, in the element types of the model; BYTES are object arrays of `str`.
    version: the number of the version as text; "" selects the newest that is ready.
    outputs: the requested outputs in order; None: all.
    priority: 0 for the model's default; requests with smaller numbers run earlier.
    deadline: the time of `time.monotonic` after which the response is of no use; None: no deadline.
    """

    model: str
    inputs: Mapping[str, Array]
    version: str = ""
    id: str = ""
    outputs: tuple[str, ...] | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    priority: int = 0
    deadline: float | None = None


@dataclass(slots=True)
class InferenceResponse:
    """The response to a request.

    version: the version that ran.  outputs: tensors by name, in the requested order.
    """

    model: str
    version: str
    outputs: Mapping[str, Array]
    id: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
