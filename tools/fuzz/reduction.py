"""Reduction of failing runs: variants with fewer feeds, nodes, operands and sizes, of which those that fail alike are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from compile.unkind_agreement import Runs
from fuzz.verdicts import Verdict
from fuzz.workers import judge_cases
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.model import clone

Judge = Callable[[Runs], Verdict]
Shrink = Callable[[Runs], Iterator[Runs]]
Results = list[dict[str, Array]]  # of each run: the arrays by name that the reference engine computed


# --- runs ------------------------------------------------------------------------------------


def smaller_runs(runs: Runs) -> Iterator[Runs]:
    """Without one set of feeds."""
    for i in reversed(range(len(runs.feeds))):
        if len(runs.feeds) > 1:
            feeds = [*runs.feeds[:i], *runs.feeds[i + 1 :]]
            yield replace(runs, feeds=feeds, valid=runs.valid - (i < runs.valid))


# --- graphs ----------------------------------------------------------------------------------


def smaller_graphs(runs: Runs) -> Iterator[Runs]:
    """With an output, a node, an operand or an attribute fewer."""
    graph = runs.model.graph
    if len(graph.outputs) > 1:
        for i in range(len(graph.outputs)):
            yield edited(runs, lambda g, i=i: g.outputs.pop(i))  # type: ignore[misc]  # bound at once
    results = run_reference(runs)
    for i, node in enumerate(graph.nodes):
        yield from with_inputs_for(runs, i, node, results)
        yield from bypassed(runs, i, node)
    for i, node in enumerate(graph.nodes):
        yield from with_fewer_operands(runs, i, node)
        for name in node.attributes:
            yield edited(runs, lambda g, i=i, name=name: list(g.nodes)[i].attributes.pop(name))  # type: ignore[misc]


def edited(runs: Runs, edit: Callable[[Graph], object], more: Results | None = None) -> Runs:
    """The runs of a copy of the model after an edit, without what it no longer needs; more: feeds of new inputs."""
    model = clone(runs.model)
    edit(model.graph)
    remove_unused(model.graph)
    feeds = [{**feed, **(more[i] if more else {})} for i, feed in enumerate(runs.feeds)]
    names = [value.name for value in model.graph.inputs]
    return replace(runs, model=model, feeds=[{name: feed[name] for name in names} for feed in feeds])


def remove_unused(graph: Graph) -> None:
    """Removes nodes, inputs and initializers that no output of the graph needs."""
    for node in reversed(list(graph.nodes)):
        if not any(value.uses or value.is_graph_output for value in node.outputs):
            graph.remove(node)
    for value in [*graph.inputs, *graph.initializers.values()]:
        if not value.uses and not value.is_graph_output:
            (graph.remove_input if value.initializer is None else graph.remove_initializer)(value)


def run_reference(runs: Runs) -> Results:
    """All values of each run, up to the node that fails."""
    interpreter, results = Interpreter(runs.model), []
    for feeds in runs.feeds:
        values: dict[str, Array] = {}

        def observe(node: Node, outputs: object, values: dict[str, Array] = values) -> None:
            arrays = zip(node.outputs, outputs, strict=False)  # type: ignore[call-overload]  # a sequence
            values |= {v.name: a for v, a in arrays if isinstance(a, np.ndarray)}

        with suppress(SardonyxError):  # of feeds that are contradictions
            interpreter.run(dict(feeds), observe)
        results.append(values)
    return results


def with_inputs_for(runs: Runs, index: int, node: Node, results: Results) -> Iterator[Runs]:
    """With inputs in place of the results of a node."""
    names = [value.name for value in node.outputs if value.name]
    if not all(name in values for values in results for name in names):
        return
    more = [{name: values[name] for name in names} for values in results]

    def edit(graph: Graph) -> None:
        for value in list(graph.nodes)[index].outputs:
            if value.name in names:
                arrays = [values[value.name] for values in more]
                name, value.name = value.name, f"{value.name}_of_node"
                value.replace_by(graph.add_input(Value(name, type_of(name, arrays))))

    yield edited(runs, edit, more)


def type_of(name: str, arrays: list[Array]) -> TensorType:
    """The type of fed arrays: numbers for dims that are always the same, else symbols."""
    lengths = [{a.shape[i] for a in arrays} for i in range(arrays[0].ndim)]
    dims = [min(ns) if len(ns) == 1 else None for ns in lengths]
    return TensorType(DataType.of(arrays[0].dtype), tuple(dims))


def bypassed(runs: Runs, index: int, node: Node) -> Iterator[Runs]:
    """With an input of a node in place of its first result."""
    for slot, value in enumerate(node.inputs):
        if value is not None:

            def edit(graph: Graph, slot: int = slot) -> None:
                copy = list(graph.nodes)[index]
                operand = copy.inputs[slot]
                assert operand is not None
                copy.outputs[0].replace_by(operand)

            yield edited(runs, edit)


def with_fewer_operands(runs: Runs, index: int, node: Node) -> Iterator[Runs]:
    """Without one of at least two inputs."""
    for slot in range(len(node.inputs)):
        if len(node.inputs) > 1:

            def edit(graph: Graph, slot: int = slot) -> None:
                copy = list(graph.nodes)[index]
                rest = [value for i, value in enumerate(copy.inputs) if i != slot]
                copy.set_inputs(rest)

            yield edited(runs, edit)


# --- values ----------------------------------------------------------------------------------


def smaller_sizes(runs: Runs) -> Iterator[Runs]:
    """With a smaller length in place of another one, in all feeds, constants and lists of sizes."""
    lengths = {n for array in arrays_of(runs) for n in array.shape if n > 1}
    for old in sorted(lengths, reverse=True):
        for new in sorted({1, 2, 3, 4, old // 2, old - 1} & set(range(1, old))):
            yield with_arrays(runs, lambda array, old=old, new=new: resized(array, old, new))  # type: ignore[misc]


def resized(array: Array, old: int, new: int) -> Array:
    """An array cut to `new` elements along axes of `old`; integers of this value are replaced too."""
    for axis in range(array.ndim):
        if array.shape[axis] == old:
            array = array.take(range(new), axis)
    return np.where(array == old, new, array).astype(array.dtype) if array.dtype == np.int64 else array


def simpler_values(runs: Runs) -> Iterator[Runs]:
    """With a constant in place of an input that is always the same, and with ones in place of other numbers."""
    for value in runs.model.graph.inputs:
        arrays = [feeds[value.name] for feeds in runs.feeds]
        if all(a.shape == arrays[0].shape and a.tobytes() == arrays[0].tobytes() for a in arrays):
            yield edited(runs, lambda g, name=value.name, a=arrays[0]: make_constant(g, name, a))  # type: ignore[misc]
    names = [v.name for v in (*runs.model.graph.inputs, *runs.model.graph.initializers.values())]
    for name in names:
        changed = with_arrays(runs, ones_like, name)
        if any(not np.array_equal(a, b) for a, b in zip(arrays_of(runs), arrays_of(changed), strict=True)):
            yield changed


def ones_like(array: Array) -> Array:
    return np.ones_like(array) if array.dtype.kind == "f" else array


def make_constant(graph: Graph, name: str, array: Array) -> None:
    value = next(v for v in graph.inputs if v.name == name)
    constant = Value(f"{name}_constant", value.type, Tensor.of(array))
    value.replace_by(graph.add_initializer(constant))


def arrays_of(runs: Runs) -> list[Array]:
    """The feeds and initializers."""
    return [*(a for feeds in runs.feeds for a in feeds.values()), *constants_of(runs.model).values()]


def constants_of(model: Model) -> Mapping[str, Array]:
    tensors = {name: value.initializer for name, value in model.graph.initializers.items()}
    return {name: tensor.numpy() for name, tensor in tensors.items() if isinstance(tensor, Tensor)}


def with_arrays(runs: Runs, change: Callable[[Array], Array], only: str = "") -> Runs:
    """The runs with changed feeds and initializers, and types that fit them; only: the name of the one to change."""
    feeds = [{k: change(a) if only in ("", k) else a for k, a in feed.items()} for feed in runs.feeds]

    def edit(graph: Graph) -> None:
        for value in graph.inputs:
            value.type = adapted_type(value, [feed[value.name] for feed in feeds])
        for name, array in constants_of(runs.model).items():
            if only in ("", name):
                value, changed = graph.initializers[name], change(array)
                value.initializer = Tensor.of(changed, name=name)
                value.type = TensorType(DataType.of(changed.dtype), changed.shape)

    result = edited(runs, edit)
    names = [value.name for value in result.model.graph.inputs]
    return replace(result, feeds=[{name: feed[name] for name in names} for feed in feeds])


def adapted_type(value: Value, arrays: list[Array]) -> TensorType:
    """The declared type, in which numbers are those of the arrays, if they are equal in all."""
    assert isinstance(value.type, TensorType), "inputs are tensors"
    actual = type_of(value.name, arrays)
    declared = value.type.shape if value.type.shape is not None else actual.shape
    assert declared is not None and actual.shape is not None
    dims = tuple(n if isinstance(d, int) else d for d, n in zip(declared, actual.shape, strict=True))
    return TensorType(value.type.dtype, dims)


# --- reduction -------------------------------------------------------------------------------

SHRINKS: Sequence[Shrink] = (smaller_runs, smaller_graphs, smaller_sizes, simpler_values)


def kind_of(verdict: Verdict) -> tuple[str, str]:
    """What remains of a fault while its case shrinks: not the operator, nor the run."""
    return verdict.fault, verdict.signature.partition(":")[0]


def reduce_runs(runs: Runs, judge: Judge) -> Runs:
    """The smallest runs that fail like these, of those that were tried."""
    (verdict,) = verdicts([runs], judge)
    kind = kind_of(verdict)
    assert kind[0], "the case must fail"
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for shrink in SHRINKS:
            while (smaller := find_failing([*shrink(runs)], judge, kind)) is not None:
                runs, is_smaller = smaller, True
    return runs


def find_failing(candidates: Sequence[Runs], judge: Judge, kind: tuple[str, str]) -> Runs | None:
    """The first of the candidates that fails in this way."""
    judged = zip(candidates, verdicts(candidates, judge), strict=True)
    return next((runs for runs, verdict in judged if kind_of(verdict) == kind), None)


def verdicts(candidates: Sequence[Runs], judge: Judge) -> Iterator[Verdict]:
    """The verdict on each, from processes that they may end."""
    return (case.verdict for case in judge_cases(lambda i: judge(candidates[i]), range(len(candidates))))
