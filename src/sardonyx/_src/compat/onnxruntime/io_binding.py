"""IOBinding: inputs and outputs of a session that are chosen before a run."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from sardonyx._src.arguments import require_integer, require_text, require_type
from sardonyx._src.compat.onnxruntime.exceptions import InvalidArgument, running_errors
from sardonyx._src.compat.onnxruntime.node_args import NodeArg
from sardonyx._src.compat.onnxruntime.ort_value import CPU, OrtValue, data_type_of, require_cpu, sizes_of
from sardonyx._src.dtypes import Array
from sardonyx._src.ops.api import RunResult, RuntimeValue

ADDRESSES = 1 << 47  # bytes of the address space of a process


class HasOutputs(Protocol):
    """An object with outputs, such as a session."""

    def get_outputs(self) -> list[NodeArg]: ...


class IOBinding:
    """The inputs and outputs of a run of `InferenceSession.run_with_iobinding`."""

    def __init__(self, session: HasOutputs) -> None:
        """session: an InferenceSession; if no output is bound, all of its outputs are computed."""
        if not callable(getattr(session, "get_outputs", None)):
            raise TypeError(f"session must be an InferenceSession; got {type(session).__name__}")
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        self._outputs: dict[str, OrtValue | None] = {}  # by name; None: a new tensor for each run
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        require_text("name", name)
        self._inputs[name] = OrtValue(np.asarray(arr_on_cpu))

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: object,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Binds an input to memory at an address, which must stay valid."""
        require_text("name", name)
        require_cpu(device_type)
        self._inputs[name] = OrtValue(array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        require_text("name", name)
        require_type("ortvalue", ortvalue, OrtValue, "an OrtValue")
        self._inputs[name] = ortvalue

    def bind_output(
        self,
        name: str,
        device_type: str = CPU,
        device_id: int = 0,
        element_type: object = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Binds an output to memory at an address, or to a new tensor in each run."""
        require_text("name", name)
        require_cpu(device_type)
        if buffer_ptr is None:
            self._outputs[name] = None
        elif shape is None or element_type is None:
            raise InvalidArgument.of(f"output {name!r} with a buffer must have a shape and an element type")
        else:
            self._outputs[name] = OrtValue(array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        require_text("name", name)
        require_type("ortvalue", ortvalue, OrtValue, "an OrtValue")
        self._outputs[name] = ortvalue

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: inputs are in the memory of this process."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: a run has ended when it returns."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[RunResult]:
        """The outputs of the last run as arrays, lists and dicts."""
        return [result.value() for result in self._results]

    def feeds(self) -> dict[str, RuntimeValue]:
        """The values of the bound inputs."""
        return {name: value.value() for name, value in self._inputs.items()}

    def names(self) -> list[str]:
        """The bound outputs; all outputs if none is bound."""
        return list(self._outputs) or [output.name for output in self._session.get_outputs()]

    def store(self, results: Mapping[str, RuntimeValue]) -> None:
        """Keeps the outputs of a run, and copies those that are bound to memory."""
        self._results = [self._store_output(name, value) for name, value in results.items()]

    def _store_output(self, name: str, value: RuntimeValue) -> OrtValue:
        bound = self._outputs.get(name)
        if bound is None:
            return OrtValue(value)
        target = bound.numpy()
        if not isinstance(value, np.ndarray) or value.shape != target.shape or value.dtype != target.dtype:
            got = (
                f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
            )
            raise InvalidArgument.of(
                f"output {name!r} is {got}, but bound to {target.dtype}{list(target.shape)}"
            )
        target[...] = value
        return bound


def array_at(address: int, element_type: object, shape: Sequence[int]) -> Array:
    """The array at an address of this process."""
    dtype, sizes = data_type_of(element_type).numpy, sizes_of(shape)
    count = math.prod(sizes) * dtype.itemsize
    with running_errors():
        require_integer("buffer_ptr", address, 1, ADDRESSES - 1)
    if count > ADDRESSES - address:
        raise InvalidArgument.of(f"a tensor must end below address {ADDRESSES}; got shape {list(sizes)}")
    memory = (ctypes.c_uint8 * count).from_address(address)
    return np.ctypeslib.as_array(memory).view(dtype).reshape(sizes)
