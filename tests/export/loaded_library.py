"""Libraries loaded into this process by ctypes, which run on NumPy arrays.

Inputs, outputs and the arena lie between guard pages, so that an access beside them faults.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

from compile.guarded import GuardedMemory
from sardonyx._src.export.interface import Port
from sardonyx._src.export.library import CompiledLibrary
from sardonyx._src.ir import Array


class LoadedLibrary:
    """A shared library, and the memory of its runs.

    at_end: whether each memory range ends at a guard page, or begins after one.
    """

    def __init__(self, compiled: CompiledLibrary, prefix: str = "model", *, at_end: bool = True) -> None:
        self.compiled, self.interface, self.at_end = compiled, compiled.interface, at_end
        functions = ctypes.CDLL(str(compiled.library))
        self.entry = functions[f"{prefix}_run"]
        self.error_text = functions[f"{prefix}_error_text"]
        self.error_text.restype = ctypes.c_char_p
        self.arena = GuardedMemory(compiled.arena_bytes, at_end=at_end)
        self.weights = None if compiled.weights is None else self.memory(compiled.weights.read_bytes())

    def memory(self, data: bytes) -> GuardedMemory:
        """Guarded memory with these bytes."""
        memory = GuardedMemory(len(data), at_end=self.at_end)
        memory.bytes[:] = np.frombuffer(data, np.uint8)
        return memory

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name."""
        inputs = [self.memory(fed(port, feeds[port.name])) for port in self.interface.inputs]
        outputs = [GuardedMemory(size_of(port), at_end=self.at_end) for port in self.interface.outputs]
        outcome = self.call(
            pointers(inputs), pointers(outputs), self.arena.address, self.compiled.arena_bytes
        )
        assert outcome == 0, f"a run must succeed; got {self.error_text(outcome)}"
        return {
            port.name: memory.bytes.copy().view(port.dtype.numpy).reshape(port.shape)
            for port, memory in zip(self.interface.outputs, outputs, strict=True)
        }

    def call(self, inputs: object, outputs: object, arena: int, size: int) -> int:
        """The outcome of `PREFIX_run`."""
        weights = () if self.weights is None else (ctypes.c_void_p(self.weights.address),)
        arguments = (inputs, outputs, ctypes.c_void_p(arena), ctypes.c_size_t(size), *weights)
        return int(self.entry(*arguments))


def fed(port: Port, value: Array) -> bytes:
    """The bytes of a feed, which must be of the port's type and shape."""
    fits = value.dtype == port.dtype.numpy and value.shape == port.shape
    assert fits, f"{port} must fit {value.dtype}{value.shape}"
    return value.tobytes()


def size_of(port: Port) -> int:
    return int(np.prod(port.shape, dtype=np.int64)) * port.dtype.numpy.itemsize


def pointers(memories: list[GuardedMemory]) -> object:
    return (ctypes.c_void_p * len(memories))(*(memory.address for memory in memories))
