"""Sequences: requests that share a state, as of a recurrent or a decoding model.

The parameter `sequence_id` of a request names its sequence; `sequence_start` begins the sequence with initial states, and
`sequence_end` drops the states after the request.  Requests of one sequence run one after the other, in the order in which they
arrive.

Spec: sequence extension of the Open Inference Protocol, as defined by Triton.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, Expr, evaluate, symbol
from sardonyx._src.ops.api import RunResult
from sardonyx._src.runtime.results.output_arrays import MAX_ROOM
from sardonyx._src.runtime.session.session_values import SessionValue
from sardonyx._src.serve.models.scheduler.options import SequenceOptions
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.requests import InferenceRequest

SequenceId: TypeAlias = "int | str"
Submit: TypeAlias = "Callable[[InferenceRequest], Awaitable[Mapping[str, RunResult]]]"


@dataclass(eq=False, slots=True)
class Sequence:
    """A sequence in progress.

    states: the states between requests, by input; None until the first request runs.
    lock: held by the request that runs.
    requests: the number of requests that run or wait.
    """

    states: dict[str, Array] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_use: float = field(default_factory=time.monotonic)
    requests: int = 0


class SequenceStore:
    """The sequences of one model."""

    def __init__(
        self,
        options: SequenceOptions,
        inputs: tuple[SessionValue, ...],
        outputs: tuple[SessionValue, ...],
    ) -> None:
        """Raises InputError for a state that is no input or no output of the model, or a tensor of unknown rank."""
        self.options = options
        self._sequences: dict[SequenceId, Sequence] = {}
        by_name = {value.name: value for value in inputs}
        results = {value.name for value in outputs}
        for state, output in options.states.items():
            if state not in by_name or output not in results:
                what = f"sequences.states must map inputs to outputs of the model; got {state!r}: {output!r}"
                raise InputError(what, name="sequences.states")
        self._states = {name: by_name[name] for name in options.states}
        self._others = [value for value in inputs if value.name not in options.states]
        self._initial_types = {name: initial_type(value) for name, value in self._states.items()}

    def __len__(self) -> int:
        return len(self._sequences)

    def close(self) -> None:
        """Drops all states."""
        self._sequences.clear()

    async def run(self, request: InferenceRequest, submit: Submit) -> Mapping[str, RunResult]:
        """The outputs of a request of a sequence.  A request that fails leaves the states as they were.

        Raises RequestFailure: INVALID for a sequence that has not begun, BUSY past the number of sequences.
        """
        key = sequence_id(request)
        if key is None:
            return await submit(request)
        if given := sorted(self._states.keys() & request.inputs.keys()):
            why = f"the states of a sequence must not be fed; got an input {given[0]!r}"
            raise RequestFailure(FailureKind.INVALID, why)
        begins = request.parameters.get("sequence_start") is True
        sequence = self._find(key, begins=begins)
        sequence.requests += 1
        try:
            async with sequence.lock:
                if begins:
                    self._sequences[key], sequence.states = sequence, self._initial_states(request)
                return await self._run_next(key, sequence, request, submit)
        finally:
            sequence.requests -= 1
            sequence.last_use = time.monotonic()

    async def _run_next(
        self, key: SequenceId, sequence: Sequence, request: InferenceRequest, submit: Submit
    ) -> Mapping[str, RunResult]:
        if self._sequences.get(key) is not sequence:  # the sequence has ended while the request waited
            raise not_begun(key)
        assert sequence.states is not None, "the first request of a sequence sets its states"
        results = await submit(dataclasses.replace(request, inputs={**request.inputs, **sequence.states}))
        sequence.states = {name: own_array(results[output]) for name, output in self.options.states.items()}
        if request.parameters.get("sequence_end") is True:
            self._sequences.pop(key, None)
        return results

    def _find(self, key: SequenceId, *, begins: bool) -> Sequence:
        """The sequence of a request; a new one if the request begins a sequence."""
        self._expire()
        sequence = self._sequences.get(key)
        if sequence is not None:
            return sequence
        if not begins:
            raise not_begun(key)
        if len(self._sequences) >= self.options.max_sequences:
            why = f"{len(self._sequences)} sequences are under way, as many as the model may have"
            raise RequestFailure(FailureKind.BUSY, why, retry_after=1.0)
        sequence = self._sequences[key] = Sequence()
        return sequence

    def _expire(self) -> None:
        """Ends sequences that have been idle for longer than allowed."""
        limit = time.monotonic() - self.options.idle_seconds
        idle = [key for key, s in self._sequences.items() if s.last_use < limit and not s.requests]
        for key in idle:
            del self._sequences[key]

    def _initial_states(self, request: InferenceRequest) -> dict[str, Array]:
        """Zeros for each state, except for inputs with a default in the model, which the model then uses."""
        lengths = {**self.options.sizes, **lengths_of(self._others, request.inputs)}
        return {
            name: zeros(type, lengths)
            for name, type in self._initial_types.items()
            if not self._states[name].has_default
        }


def not_begun(key: SequenceId) -> RequestFailure:
    why = f"sequence {key!r} has not begun, or has ended: its first request must have sequence_start"
    return RequestFailure(FailureKind.INVALID, why)


def sequence_id(request: InferenceRequest) -> SequenceId | None:
    """The sequence that a request belongs to; None for 0, "" or no id.  Raises RequestFailure for another type."""
    key = request.parameters.get("sequence_id")
    if not key and not isinstance(key, float):
        return None
    if isinstance(key, bool) or not isinstance(key, int | str):
        why = f"sequence_id must be an integer or a string; got {key!r}"
        raise RequestFailure(FailureKind.INVALID, why)
    return key


def initial_type(value: SessionValue) -> TensorType:
    """The type of a state; raises InputError without a known rank, which the initial value needs."""
    if isinstance(value.type, TensorType) and value.type.shape is not None and None not in value.type.shape:
        return value.type
    why = f"the state {value.name!r} must be a tensor whose dims are numbers or have names"
    raise InputError(f"{why}; got {value.type or 'no type'}", name=value.name)


def lengths_of(inputs: list[SessionValue], feeds: Mapping[str, Array]) -> dict[str, int]:
    """The lengths of the dimension variables that are dims of fed inputs."""
    result = {}
    for value in inputs:
        if value.name in feeds and isinstance(value.type, TensorType) and value.type.shape is not None:
            for dim, length in zip(value.type.shape, feeds[value.name].shape, strict=False):
                if isinstance(dim, Expr) and len(names := dim.symbols()) == 1 and dim == symbol(*names):
                    result[dim.text] = length
    return result


def zeros(type: TensorType, lengths: Mapping[str, int]) -> Array:
    """Zeros, False or empty strings of a type; dimension variables without a length are 0."""
    assert type.shape is not None, "checked when the model was opened"
    shape = [length_of(dim, lengths) for dim in type.shape]
    if type.dtype is DataType.STRING:
        return np.full(shape, "", object)
    return np.zeros(shape, type.dtype.numpy)


def length_of(dim: Dim, lengths: Mapping[str, int]) -> int:
    if not isinstance(dim, Expr):
        return 0 if dim is None else dim
    value = evaluate(dim, {name: lengths.get(name, 0) for name in dim.symbols()})
    return 0 if value is None else value


def own_array(value: RunResult) -> Array:
    """A state in memory of its own: a view of a batch's result would keep the whole batch in memory.

    Results of changing sizes have a little more memory than they need (`runtime/results/output_arrays.py`).
    """
    if not isinstance(value, np.ndarray):
        raise InputError(f"a state must be a tensor; got {type(value).__name__}", name="sequences.states")
    base = value.base
    has_own = base is None or (isinstance(base, np.ndarray) and base.nbytes <= value.nbytes * MAX_ROOM)
    return value if has_own else value.copy()
