"""The measurements of one class of processors for `classes.py`, whose process has the class in `SARDONYX_TARGET`.

    SARDONYX_TARGET=x86-64-v3 python bench/class_cases.py networks,products [--only deep_mlp_64] [--turns 7] [--least]

Prints lines of JSON; the last one has all rows: {"rows": [[family, name, {engine: seconds}], ...], "shares": {product: share}}.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import recurrent
import sardonyx as sx
import trees
import tuning_workloads as workloads
from latency import Case, Method, measure_case, print_timing
from peers import ENGINES
from products import peak, prepare_steps
from quantized_networks import QUANTIZED
from sardonyx._src.measure.timing import measure_engines
from tree_models import TREE_MODELS, has_libraries
from tuning_cases import repeat, repetitions, time_call
from tuning_fields import Workload
from zoo.catalogue import ENTRIES

FAMILIES = ("networks", "int8", "recurrent", "trees", "products")
TREE_ROWS = (1, 1_000)
SHARE_ROUNDS = 60  # of products, of which the fastest counts
PRODUCTS: dict[str, Workload] = {
    **{
        f"{m} x {k} @ {k} x {n}": workloads.matmul(m, k, n)
        for m, k, n in (
            (64, 256, 256), (128, 768, 768), (128, 768, 3072), (512, 512, 512), (1000, 1024, 1024), (16, 768, 768),
        )
    },
    **{
        f"{size} x {size} x {channels} to {columns}, {kernel} x {kernel}": workloads.convolution(
            (size, channels, columns, kernel, 1)
        )
        for size, channels, columns, kernel in (
            (56, 64, 256, 1), (14, 1024, 256, 1), (7, 512, 2048, 1), (56, 64, 64, 3), (14, 256, 256, 3),
        )
    },
}  # fmt: skip


@dataclass(frozen=True)
class ClassRow:
    """Seconds of a run by engine, on one thread."""

    family: str
    name: str
    seconds: dict[str, float]


def measure_family(family: str, only: str, method: Method) -> Iterator[ClassRow]:
    """The rows of a family whose names contain a text, or all."""
    match family:
        case "networks":
            for name in filter(partial(is_chosen, only), ENTRIES):
                yield row_of(family, measure_case(name, 1, ENGINES, method))
        case "int8":
            for name in filter(partial(is_chosen, only), QUANTIZED):
                yield row_of(family, measure_quantized(name, method))
        case "recurrent":
            with TemporaryDirectory() as folder:
                for i, layer in enumerate(recurrent.LAYERS):
                    if is_chosen(only, str(layer)):
                        sx.save(layer.model(), path := Path(folder) / f"{i}.onnx")
                        yield row_of(family, recurrent.measure_case(layer, path, 1, ENGINES, method))
        case "trees" if has_libraries():
            for name in filter(partial(is_chosen, only), TREE_MODELS):
                for rows in TREE_ROWS:
                    timing = trees.measure_case(TREE_MODELS[name], rows, 1, None)
                    yield ClassRow(family, f"{name}, {rows} rows", timing.medians)


def is_chosen(only: str, name: str) -> bool:
    return any(part in name for part in only.split(","))


def measure_quantized(name: str, method: Method) -> Case:
    network = QUANTIZED[name]
    clock = time.process_time if method.cpu else time.perf_counter
    engines = sorted(ENGINES, reverse=True)
    timings = measure_engines(str(network.path()), engines, 1, network.feeds(), method.turns, clock=clock)
    for timing in timings:
        print_timing(name, timing)
    return Case(name, 1, {timing.engine: timing for timing in timings}, method)


def row_of(family: str, case: Case) -> ClassRow:
    """The row of a case, without engines whose outputs are not those of the others in shape, type, NaN and infinities.

    OpenVINO without AVX2 runs some networks without computing them.
    """
    timed = {e: timing for e, timing in case.timed.items() if math.isfinite(timing.difference)}
    return ClassRow(family, case.name, {e: case.method.value(timing) for e, timing in timed.items()})


def measure_shares(only: str) -> dict[str, float]:
    """The shares of the peak that products and convolutions reach: of multiply-adds in registers, measured beside them."""
    limit, shares = peak(), {}
    for name in filter(partial(is_chosen, only), PRODUCTS):
        steps = PRODUCTS[name]()
        run, flops = prepare_steps(steps), sum(float(str(step.flops)) for step in steps)
        before, count = limit(), repetitions(run)
        best = min(time_call(partial(repeat, run, count)) for _ in range(SHARE_ROUNDS)) / count
        shares[name] = flops / best / 1e9 / max(before, limit())
        print(json.dumps({"what": name, "share": shares[name]}), flush=True)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", help=f"comma-separated, of {', '.join(FAMILIES)}")
    parser.add_argument("--only", default="", help="comma-separated parts of names; all by default")
    parser.add_argument("--turns", type=int, default=7, help="runs of each engine (%(default)s)")
    parser.add_argument("--least", action="store_true", help="compare the shortest runs, not the medians")
    parser.add_argument("--cpu", action="store_true", help="measure processor time, not wall-clock time")
    args = parser.parse_args()
    method, families = Method(args.turns, args.least, args.cpu), args.families.split(",")
    rows = [asdict(row) for family in families for row in measure_family(family, args.only, method)]
    shares = measure_shares(args.only) if "products" in families else {}
    print(json.dumps({"rows": rows, "shares": shares}), flush=True)


if __name__ == "__main__":
    main()
