"""Enumerations of onnxruntime, with its names and numbers."""

from __future__ import annotations

import enum


class GraphOptimizationLevel(enum.IntEnum):
    """The level of optimization of a graph; the compiler here has only one."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Whether independent nodes of a graph run at the same time."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """The order of the nodes of a graph."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class OrtAllocatorType(enum.IntEnum):
    """The kind of an allocator."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(enum.IntEnum):
    """The purpose of memory of a device."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1  # an alias, as in onnxruntime
    DEFAULT = 0
