"""Random graphs, compared with the reference engine, and run between guard pages and with checked accesses."""

from __future__ import annotations

from collections.abc import Callable

from compile.guarded_programs import assert_stays_in_bounds
from compile.random_layers import sample
from compile.reference_agreement import assert_agrees
from fuzz.engines import compile_in_process
from fuzz.verdicts import DIFFERENCE, Verdict, describe, fault, place_of, untyped
from fuzz.workers import Judge
from sardonyx._src.errors import SardonyxError

NODES = 14
THREADS = (1, 2)
LANES = (None, 8, 4, 1)  # floats in a vector register; None: those of the processor


def graph_judge() -> Judge:
    """Judges case i: the graph with seed i agrees with the reference engine, whatever the threads and the order of runs."""
    return lambda seed: verdict_on(lambda: assert_agrees(sample(seed, NODES), THREADS))


def guarded_graph_judge() -> Judge:
    """Judges case i: the graph with seed i stays inside the buffers that its steps declare."""
    return lambda seed: verdict_on(
        lambda: assert_stays_in_bounds(sample(seed, NODES), LANES[seed % len(LANES)])
    )


def verdict_on(check: Callable[[], None]) -> Verdict:
    try:
        with compile_in_process():
            check()
    except AssertionError as error:
        return fault(DIFFERENCE, f"assertion in {place_of(error)}", describe(error))
    except SardonyxError as error:
        return fault(DIFFERENCE, f"{type(error).__name__} of a valid graph", describe(error))
    except Exception as error:  # noqa: BLE001
        return untyped(error, "random graph")
    return Verdict("agrees")
