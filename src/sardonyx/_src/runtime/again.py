"""Runs whose feeds have the element types and dims of an earlier run's: straight into native code.

What is checked of feeds and results depends on nothing but their names, types and dims, and has passed before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.compile import entry
from sardonyx._src.compile.pool_words import RECORD, ROUNDS, WEIGHT, WORTH
from sardonyx._src.runtime.arrays import WORD, native_entry, python_address
from sardonyx._src.runtime.pool import DEFAULTS, native

if TYPE_CHECKING:
    from sardonyx._src.runtime.native import Context, NativeProgram

LIGHT = 5_000  # nominal nanoseconds of a tape that is over before another thread would have Python's lock


@dataclass(frozen=True, slots=True)
class Ready:
    """A context that needs nothing but arrays: `enter` takes the feeds, and then new arrays like `results`."""

    enter: Callable[..., int]
    results: tuple[tuple[tuple[int, ...], np.dtype[np.generic]], ...]


def can_repeat(program: NativeProgram) -> bool:
    """Whether native steps do all of a program, from the caller's arrays to the caller's arrays."""
    found = program.program
    results = found.outputs.values()
    return (
        len(found.steps) == len(found.actions)
        and set(found.model.graph.inputs) == set(found.inputs)
        and all(tensor is not None and tensor.storage.role == "output" for tensor in results)
        and native_entry() is not None
    )


def ready(context: Context) -> Ready:
    """A context made ready for more runs of the lengths that it is bound to."""
    found = native_entry()
    assert found is not None, "nothing is known of arrays here"
    tensors = context.native.program.outputs.values()
    results = [(context.shape(tensor), tensor.dtype.numpy) for tensor in tensors if tensor is not None]
    return Ready(found.function(np.array(frame(context), np.int64)), tuple(results))


def frame(context: Context) -> list[int]:
    """The words that `compile.entry` reads."""
    program = context.native.program
    records = len(program.actions)
    weight = int(context.values[WEIGHT : records * RECORD : RECORD].sum())
    if context.native.has_loops:
        weight = weight * ROUNDS + LIGHT + 1  # nobody knows how long they take
    is_alone = context.native.pool.threads == 1 or weight < DEFAULTS[WORTH]
    fed, ports = checks(context), places(context)
    words = [0] * entry.FIRST
    words[entry.COUNT] = len(program.inputs) + len(program.outputs)
    words[entry.FED], words[entry.PORTS] = len(program.inputs), len(ports) // 3
    words[entry.ARRAY] = id(np.ndarray)
    words[entry.RUN] = native().library.addresses["run"] if is_alone else 0
    words[entry.TAPE], words[entry.RECORDS] = context.words.ctypes.data, records
    words[entry.SCRATCH], words[entry.STRIDE] = context.scratch.address, context.scratch.stride
    words[entry.STATUS] = context.status.ctypes.data
    if weight > LIGHT:
        words[entry.SAVE] = python_address("PyEval_SaveThread")
        words[entry.RESTORE] = python_address("PyEval_RestoreThread")
    words[entry.NUMBER] = python_address("PyLong_FromSsize_t")
    return words + fed + ports


def checks(context: Context) -> list[int]:
    """What each array that is fed is held to."""
    found = []
    for value in context.native.program.model.graph.inputs:
        tensor = context.native.program.inputs[value]
        shape = context.shape(tensor)
        found += [id(tensor.dtype.numpy), len(shape), *shape]
    return found


def places(context: Context) -> list[int]:
    """The words that stand for the caller's arrays: number of the array, address, distance."""
    program, ports = context.native.program, context.native.ports
    fed = [program.inputs[value] for value in program.model.graph.inputs]
    tensors = [*fed, *(tensor for tensor in program.outputs.values() if tensor is not None)]
    start = context.words.ctypes.data
    found: list[int] = []
    for number, tensor in enumerate(tensors):
        for at in ports.get(tensor.storage, np.empty(0, np.int64)).tolist():
            found += [number, start + at * WORD, int(context.values[at])]
    return found
