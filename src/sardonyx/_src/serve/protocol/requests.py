"""Requests and responses of inference, as all transports exchange them with models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sardonyx._src.ir.tensors import Array

Parameter: TypeAlias = "bool | int | float | str"


@dataclass(slots=True)
class InferenceRequest:
    """One request of inference.

    inputs: tensors by name, in the element types of the model; BYTES are object arrays of `str`.
    version: the number of the version as text; "" selects the newest that is ready.
    outputs: the requested outputs in order; None: all.
    priority: 0 is the model's default; of the others, a smaller number runs earlier.
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
