"""Kinds of kernels without probes, and why they have none."""

from __future__ import annotations

from collections.abc import Mapping

RUN_LOOP = "calls kernels on threads, whose programs and pools only a session has"
ENTRIES = "reads Python's objects, whose layout is that of one NumPy"
INTERPRETER = (
    "its code alone would take three milliseconds, and each of its instructions is a kernel of its own"
)
EPILOGUE = "26 KB of code that differ from a probed kernel by an epilogue"

UNPROBED: Mapping[str, str] = {
    "run loop": RUN_LOOP,
    "fast entries ArrayFields(type_object=": ENTRIES,
    "interpreter of elementwise": INTERPRETER,
    "interpreter of sizes": INTERPRETER,
    "template of elementwise": "a jump to the interpreter",
    "template of sizes": "a jump to the interpreter",
    "reduce_columns_log_sum_exp_float_": EPILOGUE,
    "nothing": "a jump of the run loop, without any code",
}
