"""Programs of a document as JSON: actions, guards, observations, and where sizes come from."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import cast

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program import EXACT, Buffer, Guard, Kernel, Precision, Step, TensorView
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.steps.assumptions import BranchTaken, Observation
from sardonyx._src.compile.program.steps.precision import PRECISIONS
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.container import (
    Container,
    Json,
    expect_integer,
    expect_list,
    expect_object,
    expect_string,
    require,
)
from sardonyx._src.runtime.saved_programs.encoded_tensors import TensorDecoder, TensorEncoder
from sardonyx._src.runtime.saved_programs.encoded_values import MAX_RANK, decode_dim, encode_dim


def encode_program(
    executable: Executable, encoder: TensorEncoder, node_numbers: Mapping[Node, int]
) -> dict[str, Json]:
    """The part of a document that describes the program.

    encoder: numbers the buffers.  node_numbers: the index of the node of each fallback op in the saved model.
    """
    program = executable.program
    return {
        "lengths": [[name, *source] for name, source in program.sizes.items()],
        "observations": [
            [
                node_numbers[node],
                [value.name for value in observation.outputs],
                None if observation.condition is None else observation.condition.name,
            ]
            for node, observation in program.observations.items()
        ],
        "parameters": list(program.parameters),
        "assumed_branches": [
            [name, branch.output, branch.is_then] for name, branch in program.assumed_branches.items()
        ],
        "data_dependent_sizes": [name for name, stage in program.stages.items() if stage],
        "guards": [[encode_dim(guard.left), encode_dim(guard.right)] for guard in program.guards],
        "others": [encoder.base(base) for base in executable.encoding.extra_bases],
        "actions": [encode_action(action, encoder, node_numbers) for action in program.actions],
        "inputs": [[v.name, encoder.tensor(t)] for v, t in program.inputs.items()],
        "outputs": [[v.name, None if t is None else encoder.tensor(t)] for v, t in program.outputs.items()],
        "in_place": [[output, fed] for output, fed in program.in_place.items()],
        "fed": len(program.model.graph.inputs),
    }


def encode_action(action: Action, encoder: TensorEncoder, node_numbers: Mapping[Node, int]) -> Json:
    """An action, as `ProgramDecoder.action` describes it."""
    match action:
        case Step():
            return action.kernel.key
        case FallbackOp():
            return [
                node_numbers[action.node],
                [[v.name, encoder.tensor(t)] for v, t in action.native_inputs.items()],
            ]
        case CollectScanOutputs():
            buffers: Json = [[v.name, encoder.tensor(t)] for v, t in action.buffers.items()]
            return [buffers, encoder.tensor(action.iterations), action.is_last]
        case BindSizes():
            symbols: Json = [[axis, name] for axis, name in action.symbols.items()]
            count: Json = [] if action.count is None else [encoder.tensor(action.count)]
            return [action.value.name, action.rank, symbols, count]
    return [action.value.name, encoder.tensor(action.tensor)]


class ProgramDecoder:
    """Decodes the program of a document.

    files: the other files that have constants of the program.
    model: the nodes of its fallback ops.
    values: the values of that model by name.
    """

    def __init__(self, container: Container, files: ConstantFiles) -> None:
        self.document = container.document
        self.model = self.fallback_model(bytes(container.sections["model"]))
        graph = self.model.graph
        computed = [v for node in graph.nodes for v in node.outputs]
        self.values = {v.name: v for v in (*graph.inputs, *graph.initializers.values(), *computed)}
        self.drop_native_values()
        self.lengths = {
            expect_string(name): (expect_string(source), expect_integer(axis, 64))
            for name, source, axis in (
                expect_list(entry, 3) for entry in expect_list(self.document["lengths"])
            )
        }
        bound = expect_list(self.document["data_dependent_sizes"])
        self.symbols = {*self.lengths, *map(expect_string, bound)}
        self.tensors = TensorDecoder(self.document, container.sections, self.symbols, files)
        self.actions = [self.action(entry) for entry in expect_list(self.document["actions"])]

    def fallback_model(self, encoded: bytes) -> Model:
        """The model of the fallback ops; for a program without any, a model that has only inputs and outputs."""
        if encoded:
            from sardonyx._src.io.loading.load import load  # lazy: most programs have no fallback ops

            return load(encoded)
        inputs, outputs = (expect_list(names) for names in expect_list(self.document["ports"], 2))
        graph = Graph("saved", [Value(expect_string(name)) for name in inputs])
        values = {value.name: value for value in graph.inputs}
        graph.outputs = [values[expect_string(name)] for name in outputs]
        version = expect_integer(expect_object(self.document["interface"])["ir_version"])
        return Model(graph, ir_version=version, opset_imports={})

    def drop_native_values(self) -> None:
        """Removes the inputs that stand for results of kernel steps, which come after the inputs of the program."""
        graph = self.model.graph
        for value in graph.inputs[expect_integer(self.document["fed"], len(graph.inputs)) :]:
            graph.remove_input(value)

    def value(self, name: Json) -> Value:
        value = self.values.get(expect_string(name))
        require(value is not None, f"unknown value {name!r}")
        return cast(Value, value)

    def program(self) -> Program:
        inputs, outputs = expect_list(self.document["inputs"]), expect_list(self.document["outputs"])
        graph = self.model.graph
        input_tensors = {
            self.value(name): self.tensors.tensor(t)
            for name, t in (expect_list(entry, 2) for entry in inputs)
        }
        require(input_tensors.keys() <= set(graph.inputs), "a tensor of an unknown input")
        output_tensors = {
            self.value(name): None if t is None else self.tensors.tensor(t)
            for name, t in (expect_list(entry, 2) for entry in outputs)
        }
        require(output_tensors.keys() == set(graph.outputs), "the outputs are not those of the model")
        bindings = (action for action in self.actions if isinstance(action, BindSizes))
        bound = {name for action in bindings for name in action.symbols.values()}
        require(bound == self.symbols - self.lengths.keys(), "nothing binds a size")
        require(
            {source for source, _ in self.lengths.values()} <= {v.name for v in graph.inputs},
            "a size of an unknown input",
        )
        status_view = TensorView(
            DataType.INT64, (1,), (1,), Buffer("status", status.STATUS_SLOTS * status.SLOT_BYTES, "status")
        )
        return Program(
            self.model,
            self.actions,
            self.lengths,
            input_tensors,
            output_tensors,
            status_view,
            self.guards(),
            assumed_branches=self.assumed_branches({value.name for value in output_tensors}),
            observations=self.observations(),
            parameters=tuple(map(expect_string, expect_list(self.document["parameters"]))),
            precision=self.precision(),
            in_place=self.in_place({value.name for value in output_tensors}),
        )

    def precision(self) -> Precision:
        stated = self.document["precision"]
        known = next((precision for precision in PRECISIONS if precision == stated), None)
        require(known is not None, f"unknown precision {stated!r}")
        return known or EXACT

    def observations(self) -> dict[Node, Observation]:
        """The branches and ranks that runs can observe, by the nodes of fallback ops."""
        nodes = self.model.graph.nodes
        entries = (expect_list(entry, 3) for entry in expect_list(self.document["observations"]))
        return {
            nodes[expect_integer(number, len(nodes) - 1)]: Observation(
                None if condition is None else self.value(condition),
                tuple(map(self.value, expect_list(names))),
            )
            for number, names, condition in entries
        }

    def assumed_branches(self, outputs: Set[str]) -> dict[str, BranchTaken]:
        """The outputs that are conditions of branches, by name, with the branch that each must choose."""
        entries = (expect_list(entry, 3) for entry in expect_list(self.document["assumed_branches"]))
        branches = {
            expect_string(name): BranchTaken(expect_string(output), is_then=is_then is True)
            for name, output, is_then in entries
        }
        require(branches.keys() <= outputs, "a condition is no output")
        return branches

    def in_place(self, outputs: Set[str]) -> dict[str, str]:
        """The inputs in whose memory outputs may be written, by output."""
        pairs = (expect_list(entry, 2) for entry in expect_list(self.document["in_place"]))
        inputs = {expect_string(output): expect_string(fed) for output, fed in pairs}
        is_known = inputs.keys() <= outputs and {*inputs.values()} <= {
            v.name for v in self.model.graph.inputs
        }
        require(is_known, "an unknown value is written in place")
        return inputs

    def guards(self) -> tuple[Guard, ...]:
        pairs = (expect_list(entry, 2) for entry in expect_list(self.document["guards"]))
        guards = tuple(Guard(decode_dim(left), decode_dim(right)) for left, right in pairs)
        self.tensors.check_dims(*(dim for guard in guards for dim in guard))
        return guards

    def action(self, entry: Json) -> Action:
        """Decodes an action.  Its kind follows from the types of its elements:

        - kernel step: the key of its kernel
        - fallback op: index of its node, native inputs
        - copy: name of its value, tensor
        - binding of sizes: name of its value, rank, symbols of its axes, count
        - collection of scan outputs: buffers, number of iterations, whether the loop has ended
        """
        if isinstance(entry, str):
            return Step(Kernel(entry, no_source), (), 0, (), ())
        first, second, *rest = expect_list(entry)
        if isinstance(first, list):
            pairs = (expect_list(pair, 2) for pair in first)
            buffers = {self.value(name): self.tensors.tensor(tensor) for name, tensor in pairs}
            require(len(rest) == 1 and bool(buffers), "scan outputs are incomplete")
            return CollectScanOutputs(buffers, self.tensors.tensor(second), is_last=rest[0] is True)
        if isinstance(first, str) and isinstance(second, int):
            require(len(rest) == 2, "a binding of sizes is incomplete")
            return self.binding(first, expect_integer(second, MAX_RANK), rest[0], rest[1])
        require(not rest, "an action is too long")
        if isinstance(first, str):
            return CopyIn(self.value(first), self.tensors.tensor(second))
        node = self.model.graph.nodes[expect_integer(first, len(self.model.graph.nodes) - 1)]
        pairs = (expect_list(pair, 2) for pair in expect_list(second))
        return FallbackOp(node, {self.value(name): self.tensors.tensor(tensor) for name, tensor in pairs})

    def binding(self, name: str, rank: int, entry: Json, count: Json) -> BindSizes:
        pairs = (expect_list(pair, 2) for pair in expect_list(entry))
        symbols = {expect_integer(axis, rank - 1): expect_string(symbol) for axis, symbol in pairs}
        counts = [self.tensors.tensor(tensor) for tensor in expect_list(count)]
        require(len(counts) <= 1, "a binding of sizes has several counts")
        is_count = all(
            c.dtype is DataType.INT64 and c.shape == (1,) and c.buffer.role == "arena" for c in counts
        )
        require(is_count, "the count of a binding of sizes must be one int64 in the arena")
        return BindSizes(self.value(name), rank, symbols, counts[0] if counts else None)


def no_source(name: str, target: Target) -> str:
    raise AssertionError("kernels of saved programs have no source")
