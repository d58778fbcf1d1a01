"""Put extreme integers into every integer attribute of every operator, and compare the two engines.

    python tools/fuzz/attribute_extremes.py [PATTERN] [--cases 2] [--sample N] [--seed 0]

The models are node cases of the onnx wheel and cases of tests/ops.  A mutation replaces one integer of one attribute;
its model runs with fixed and with open dims, on the reference engine, on the native engine, and, where both succeed with
native steps only, in the build with checked accesses.  Mutations run in a process with limits, so that a crash or a hang
is reported with the others.  PATTERN selects operators by a regular expression.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))

import sardonyx as sx
from cases import Case, model_of
from compile.guarded_programs import run_guarded
from conformance.inference import with_variables
from conformance.official import node_cases
from fuzz.limited_process import Death, LimitedProcess, ProcessLimits
from sardonyx._src.errors import LimitError, SardonyxError
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute
from sardonyx._src.ir.model import Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.proto.binary import encode
from sardonyx._src.runtime.native_program import compile_for_host

ROOT = Path(__file__).resolve().parent.parent.parent
EXTREMES = (
    0, 1, -1, 2, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**58, 2**62, 2**63 - 1, -(2**63), -(2**62),
)  # fmt: skip
LIMITS = sx.RunLimits(bytes=1 << 24, iterations=1000, nodes=10_000)
RTOL, ATOL = 1e-3, 1e-4  # of values that are right; a wrong window or stride gives others
SEEDS_OF_OPERATORS = ("seed",)  # attributes that only choose random numbers


@dataclass(frozen=True)
class Subject:
    """A model of one node, and feeds of a run."""

    name: str
    operator: str
    model: bytes
    feeds: Mapping[str, RuntimeValue]


@dataclass(frozen=True)
class Mutation:
    """An attribute of a subject's node, set to `value`; position: of the changed integer in a list, else None."""

    subject: Subject
    attribute: str
    position: int | None
    value: int
    is_open: bool

    def __str__(self) -> str:
        place = self.attribute if self.position is None else f"{self.attribute}[{self.position}]"
        dims = "open" if self.is_open else "fixed"
        return f"{self.subject.operator} ({self.subject.name}) {place} = {self.value}, {dims} dims"


# --- models and mutations --------------------------------------------------------------------


def subjects() -> Iterator[Subject]:
    """The node cases of the wheel that have one node, and the cases of tests/ops."""
    for official in node_cases():
        model = official.load()
        if len(model.graph.nodes) == 1:
            inputs = next(iter(official.data_sets(model)))[0]
            names = [value.name for value in model.graph.inputs]
            feeds: dict[str, RuntimeValue] = dict(zip(names, inputs, strict=False))  # type: ignore[arg-type]
            yield Subject(official.name, model.graph.nodes[0].op_type, encode(to_proto.model(model)), feeds)
    for case in own_cases():
        feeds = {f"x{i}": x for i, x in enumerate(case.inputs) if x is not None or i in case.types}
        yield Subject(str(case), case.op, encode(to_proto.model(model_of(case))), feeds)


def own_cases() -> Iterator[Case]:
    """The cases in lists of the test modules of operators."""
    for path in sorted((ROOT / "tests" / "ops").rglob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
        assert spec is not None and spec.loader is not None, f"{path} must be a module"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for value in list(vars(module).values()):
            if isinstance(value, list):
                yield from (case for case in value if isinstance(case, Case))


def mutations(pattern: str, cases_per_attribute: int) -> Iterator[Mutation]:
    """The mutations of the first cases that state an attribute, or else of those that leave it to its default."""
    ranked: list[tuple[bool, str, Subject, int | None]] = []
    for subject in subjects():
        if re.search(pattern, subject.operator):
            model = sx.load(subject.model)
            (node,) = model.graph.nodes
            for name, declared in schema_of(node, model.opset_imports).attributes.items():
                value = node.attributes[name].value if name in node.attributes else None
                if declared.type == "INT" and name not in SEEDS_OF_OPERATORS:
                    ranked.append((value is None, name, subject, None))
                elif declared.type == "INTS" and isinstance(value, tuple) and value:
                    ranked += [(False, name, subject, position) for position in sorted({0, len(value) - 1})]
    counts: Counter[tuple[str, str, int | None]] = Counter()
    for _, name, subject, position in sorted(ranked, key=lambda entry: entry[0]):
        counts[subject.operator, name, position and 1] += 1
        if counts[subject.operator, name, position and 1] <= cases_per_attribute:
            for value in EXTREMES:
                yield from (Mutation(subject, name, position, value, is_open) for is_open in (False, True))


def mutated_model(mutation: Mutation) -> Model:
    """The model of a mutation, whose outputs have no declared types."""
    model = sx.load(mutation.subject.model)
    (node,) = model.graph.nodes
    name, position = mutation.attribute, mutation.position
    if position is None:
        node.attributes[name] = Attribute(name, AttributeType.INT, mutation.value)
    else:
        numbers = [*node.attributes[name].value]  # type: ignore[misc]
        numbers[position] = mutation.value
        node.attributes[name] = Attribute(name, AttributeType.INTS, tuple(numbers))
    for value in model.graph.outputs:
        value.type = None
    if mutation.is_open:
        with_variables(model, shared=False)
    return model


# --- runs ------------------------------------------------------------------------------------


def judge(mutation: Mutation) -> str:
    """Runs a mutation on both engines: "" if they agree; else what is wrong.  Called in a process with limits."""
    warnings.simplefilter("ignore")
    model = mutated_model(mutation)
    expected = outcome(model, mutation.subject.feeds, "reference")
    actual = outcome(model, mutation.subject.feeds, "native")
    for engine, result in (("reference", expected), ("native", actual)):
        if isinstance(result, Exception) and not isinstance(result, SardonyxError):
            return f"{engine}: untyped {describe(result)}"
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        if isinstance(expected, LimitError) and not isinstance(actual, Exception):
            return ""  # results of the reference engine are limited one by one, those of native code together
        same = type(expected) is type(actual)
        return "" if same else f"reference: {describe(expected)}; native: {describe(actual)}"
    operator = find(model.graph.nodes[0].domain, model.graph.nodes[0].op_type)
    if operator is None or operator.tolerance == "random":
        return ""
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        if not is_close(a, b):
            return f"output {i}: reference: {summary(b)}; native: {summary(a)}"
    return check_accesses(model, mutation.subject.feeds)


def outcome(
    model: Model, feeds: Mapping[str, RuntimeValue], engine: str
) -> Sequence[RuntimeValue] | Exception:
    """The outputs of two equal runs, or what they raise."""
    try:
        session = sx.Session(model, engine=engine, limits=LIMITS)  # type: ignore[arg-type]
        session.run(feeds)
        return list(session.run(feeds).values())
    except Exception as error:  # noqa: BLE001  # untyped ones are what this looks for
        return error


def check_accesses(model: Model, feeds: Mapping[str, RuntimeValue]) -> str:
    """Runs a model whose steps are native in the build with checked accesses."""
    arrays = {name: value for name, value in feeds.items() if isinstance(value, np.ndarray)}
    executable = compile_for_host(model)
    program = executable.program
    if not program.steps or len(program.steps) < len(program.actions) or len(arrays) < len(feeds):
        return ""
    try:
        run_guarded(executable, arrays, at_end=True, seed=0, checks=True)
    except AssertionError as error:
        return f"checked build: {describe(error)}"
    return ""


def is_close(a: object, b: object) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_close, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return type(a) is type(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc":
        return a.dtype.kind == "V" or bool(np.array_equal(a, b))
    return bool(np.allclose(a.astype("c16"), b.astype("c16"), RTOL, ATOL, equal_nan=True))


def describe(result: object) -> str:
    if isinstance(result, Exception):
        return f"{type(result).__name__}: {' '.join(str(result).split())[:200]}"
    return "a result"


def summary(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    return f"{value.dtype}{list(value.shape)} {value.reshape(-1)[:4].tolist()}"


# --- campaigns -------------------------------------------------------------------------------


def failures(selected: Sequence[Mutation], limits: ProcessLimits | None = None) -> Iterator[tuple[int, str]]:
    """The number and the fault of each mutation that is not right, as they are found."""
    process = LimitedProcess(judge, limits)
    for i, mutation in enumerate(selected):
        result = process.call(mutation)
        fault = f"died: {result.cause}" if isinstance(result, Death) else result
        if fault:
            yield i, f"{mutation}: {fault}"
    process.close()


def main(words: argparse.Namespace) -> int:
    selected = [*mutations(words.pattern, words.cases)]
    if words.sample:
        selected = random.Random(words.seed).sample(selected, min(words.sample, len(selected)))
    start, count = time.perf_counter(), 0
    print(f"{len(selected)} mutations", flush=True)
    for number, fault in failures(selected):
        count += 1
        print(f"{number}: {fault}", flush=True)
    print(f"{len(selected)} mutations, {count} failed, {time.perf_counter() - start:.0f} s")
    return 1 if count else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pattern", nargs="?", default="", help="operators to mutate, by a regular expression")
    parser.add_argument("--cases", type=int, default=2, help="cases of each attribute (%(default)s)")
    parser.add_argument("--sample", type=int, default=0, help="mutations to select at random; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the selection (%(default)s)")
    sys.exit(main(parser.parse_args()))
