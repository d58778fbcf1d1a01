"""The measurements of `equal_bits.py` in one class of processors: a line of JSON for each choice and kernel.

    SARDONYX_TARGET=x86-64-v3 python bench/equal_bits_cases.py [--only sums] [--rounds 30] [--medians]

Processor time of one core; the kernels with equal bits and those of the class's own run in turn.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace

import numpy as np

from equal_bits_choices import Choice, choices
from products import aligned_bytes, prepare_steps
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.ir import Array
from tuning_cases import ROUNDS, Method, Result, Run, measure_cost_model, measure_sweep, signature
from tuning_sweeps import sweeps

EQUAL, OWN = "equal", "own"  # bits of all classes, and of this one
ROUNDING_FIELDS = {  # that decide the order of sums or the algorithm: one value for all classes
    "gemm.k_block",
    "conv.max_block_terms",
    "conv.max_im2row_channels",
    "weight_gradient.block_pixels",
    "attention.key_block",
    "attention.fold_chains",
    "attention.decode_key_block",
    "attention.split_keys",
    "attention.max_decode_queries",
    "channels_last.summation_block",
    "reductions.row_unroll",
}


def measure_choice(choice: Choice, method: Method) -> Iterator[Result]:
    """The times of the kernels of a class's own, over those with equal bits."""
    for shape, workload in choice.workloads.items():
        runs, texts, values = dict[str, Run](), dict[str, object](), dict[str, Array]()
        for name, context in ((EQUAL, nullcontext()), (OWN, choice.free())):
            with context:
                steps = workload()
                texts[name] = signature(steps)
                runs[name], values[name] = prepare(steps)
        if choice.computes_the_same:
            np.testing.assert_allclose(values[OWN], values[EQUAL], 1e-3, 1e-3, err_msg=choice.name)
        if texts[EQUAL] == texts[OWN]:
            yield Result(choice.name, shape, EQUAL, "", float("nan"), {EQUAL: 1.0})
        else:
            yield method.measure((choice.name, shape), EQUAL, "", runs, cold=False)


def prepare(steps: Sequence[Step]) -> tuple[Run, Array]:
    """A call of the steps on random numbers and on their constants, of any types, and their last result."""
    memory = dict[Buffer, Array]()
    for tensor in (operand for step in steps for operand in (*step.reads, *step.writes)):
        if tensor.buffer not in memory:
            data = tensor.buffer.data
            content = data.materialize() if isinstance(data, LazyConstant) else data
            memory[tensor.buffer] = numbers = aligned_bytes(tensor.buffer.size)
            if content is not None:
                numbers[:] = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
            elif tensor.dtype.numpy == np.float32:
                numbers.view(np.float32)[:] = np.random.default_rng(1).normal(size=numbers.size // 4)
            else:
                numbers[:] = np.random.default_rng(1).integers(0, 256, numbers.size)
    run, y = prepare_steps(steps, memory), steps[-1].writes[0]
    run()
    return run, memory[y.buffer].view(y.dtype.numpy).copy()


def measure_fields(method: Method) -> Iterator[Result]:
    """The fields that decide bits: the value of all classes beside the best one of this class."""
    for sweep in sweeps():
        if sweep.name in ROUNDING_FIELDS:
            yield from measure_sweep(sweep, method)


def results(only: str, method: Method) -> Iterator[Result]:
    prefixes = tuple(only.split(","))
    for choice in choices():
        if choice.applies(host_target()) and choice.name.startswith(prefixes):
            yield from measure_choice(choice, method)
    if "fields".startswith(prefixes):
        yield from measure_fields(method)
    if "algorithms".startswith(prefixes):
        yield from (
            replace(result, field="algorithm of a convolution") for result in measure_cost_model(method)
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="", help='comma-separated beginnings of choices, "fields" and "algorithms"'
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="%(default)s by default")
    parser.add_argument("--medians", action="store_true", help="compare medians, not the shortest runs")
    options = parser.parse_args()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", "set OPENBLAS_NUM_THREADS=1: one core is measured"
    for result in results(options.only, Method(options.rounds, least=not options.medians)):
        print(json.dumps(asdict(result)), flush=True)


if __name__ == "__main__":
    main()
