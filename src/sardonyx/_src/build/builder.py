"""`Builder`: models written in Python, one call per node, each checked and typed at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

from sardonyx._src.arguments import (
    items_of,
    require_integer,
    require_mapping,
    require_text,
    require_type,
)
from sardonyx._src.build.blocks import IfBlock, LoopBlock, ScanBlock
from sardonyx._src.build.calls import add_call, add_constant, add_sparse
from sardonyx._src.build.domain_methods import DomainMethods
from sardonyx._src.build.evaluation import compute_value
from sardonyx._src.build.functions import FunctionMaker
from sardonyx._src.build.indexing import select_part
from sardonyx._src.build.literals import literal_tensor, tensor_of_input
from sardonyx._src.build.operand import Operand, OperandLike
from sardonyx._src.build.operator_methods import OperatorMethods
from sardonyx._src.build.outputs import add_output, finish_model
from sardonyx._src.build.scopes import Scopes
from sardonyx._src.build.state import BuilderState
from sardonyx._src.build.subgraphs import add_if, add_loop, add_scan, build_graph, build_untaken_graph
from sardonyx._src.build.type_arguments import require_dtype, require_type_or_none
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Model, Node, SparseTensor, TensorType, Type
from sardonyx._src.ir.build import DIM_KINDS, dim_of
from sardonyx._src.ir.dims import Dim
from sardonyx._src.schema import canonical, domains, newest, vendor_domains

DEFAULT_IR_VERSION = 10  # a version that current tools read; models that need a later one get it
DTypeLike = DataType | str | np.dtype | type
F = TypeVar("F", bound=Callable[..., object])
Results: TypeAlias = Any  # an operand or a tuple of them, as many as a Python function returns


class Builder(OperatorMethods):
    """Constructs a model; a method for every operator appends a node, and returns its output.

        b = sx.Builder(opset=21)
        x = b.input("x", "float32", ["N", 64])
        hidden = b.Relu(x @ weights + bias)
        model = b.model(y=b.Softmax(hidden, axis=-1))

    Every call is checked against the operator's signature, and its results are typed.  A mistake raises InputError or
    InferenceError at the line of the call, and leaves the model as it was.  Inputs of calls are operands, or arrays, numbers,
    strings and lists, which become constants.  A call with several outputs returns them in a tuple; optional outputs are
    requested by `outputs=3`, or by their names.  Operands have Python's operators and NumPy's indexing.
    """

    def __init__(self, opset: int, *, name: str = "main", imports: dict[str, int] | None = None) -> None:
        """opset: the version of ai.onnx.  imports: the versions of other domains; by default a domain has its newest version."""
        require_integer("opset", opset, 1, newest(""))
        require_text("name", name)
        if imports is not None:
            require_mapping("imports", imports, str, int, "domains to versions")
        graph = Graph(name)
        model = Model(graph, ir_version=DEFAULT_IR_VERSION, opset_imports={"": opset, **(imports or {})})
        self._state = BuilderState(self, model, Scopes([graph]))

    @property
    def graph(self) -> Graph:
        """The main graph."""
        return self._state.model.graph

    @property
    def imports(self) -> dict[str, int]:
        """The versions of the imported operator sets, by domain."""
        return self._state.model.opset_imports

    @property
    def operator_domain(self) -> str:
        return ""

    @property
    def state(self) -> BuilderState:
        """The state of the construction, for modules of this package."""
        return self._state

    @staticmethod
    def tensor(dtype: DTypeLike, shape: Sequence[Dim | str] | None = None) -> TensorType:
        """A tensor type; a dim given as a string is a variable, or an expression over variables.

        Strings that mean an unknown size in files, such as "?", mean it here, too.  shape: None for an unknown rank.
        """
        element = require_dtype(dtype)
        if shape is None:
            return TensorType(element)
        dims = items_of("shape", shape, DIM_KINDS, "dims")
        return TensorType(element, tuple(dim_of(d) if isinstance(d, str) else d for d in dims))

    def input(
        self,
        name: str,
        dtype: DTypeLike | Type,
        shape: Sequence[Dim | str] | None = None,
        *,
        default: object = None,
        example: object = None,
    ) -> Operand:
        """Adds an input of the model.

        dtype, shape: the element type and the dims of a tensor; or any type of `sardonyx.ir` as `dtype`.
        default: the value of the input if it is not fed.
        example: a value with which `Operand.numpy` computes.
        """
        require_text("name", name)
        if self._state.scopes.current is not self.graph:
            raise InputError("inputs must be added outside of subgraphs and functions", name="name")
        type = dtype if isinstance(dtype, Type) else self.tensor(dtype, shape)
        value = Operand(self, self._state.reserve(name), type)
        if example is not None and isinstance(type, TensorType):
            example = tensor_of_input(value, example, "example").numpy()
        value.example = example
        self._state.inference.used_symbols = None  # computed again, since the input may have new symbols
        if default is not None:
            value.initializer = tensor_of_input(value, default, "default")
            self.graph.add_initializer(value)
        self.graph.add_input(value)
        return value

    def constant(self, name: str, values: object, dtype: DTypeLike | None = None) -> Operand:
        """An initializer of the main graph; floats become FLOAT and ints INT64 unless `dtype` is given."""
        require_text("name", name)
        if isinstance(values, SparseTensor):
            return add_sparse(self._state, values, self._state.reserve(name))
        element = None if dtype is None else require_dtype(dtype)
        tensor = literal_tensor(values, None, None, {}, f"constant {name!r}", element)
        if self._state.scopes.in_function:
            return self.call("Constant", value=tensor, outputs=name)
        return add_constant(self._state, self.graph, self._state.reserve(name), tensor)

    @overload
    def op(  # type: ignore[overload-overlap]  # a name is a sequence of texts, too
        self,
        op_type: str,
        *inputs: OperandLike | None,
        outputs: str | None = None,
        domain: str = "",
        name: str = "",
        **attributes: object,
    ) -> Operand: ...

    @overload
    def op(
        self,
        op_type: str,
        *inputs: OperandLike | None,
        outputs: int | Sequence[str],
        domain: str = "",
        name: str = "",
        **attributes: object,
    ) -> tuple[Operand, ...]: ...

    def op(
        self,
        op_type: str,
        *inputs: OperandLike | None,
        outputs: int | str | Sequence[str] | None = None,
        domain: str = "",
        name: str = "",
        **attributes: object,
    ) -> Operand | tuple[Operand, ...]:
        """Adds a node, and returns its output, or a tuple of its outputs (None for those left out).

        `b.Gemm(x, w, transB=1)` is short for `b.op("Gemm", x, w, transB=1)`.
        outputs: the number or the names of the outputs, "" for one left out; by default as many as the operator requires.
        name: the name of the node.
        """
        for what, text in (("op_type", op_type), ("domain", domain), ("name", name)):
            require_text(what, text)
        node = add_call(self._state, op_type, inputs, outputs, canonical(domain), name, attributes)
        return results_of(node)

    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand:
        return self.op(op_type, *inputs, **options)  # type: ignore[call-overload, no-any-return]  # op checks them

    def domain(self, name: str) -> DomainMethods:
        """The operators of a domain as methods."""
        require_text("name", name)
        return DomainMethods(self.call, canonical(name))

    @overload
    def if_(  # type: ignore[overload-overlap]  # a tuple is a list of numbers, too
        self,
        condition: OperandLike,
        then_branch: Callable[[], tuple[OperandLike, ...]],
        else_branch: Callable[[], tuple[OperandLike, ...]],
    ) -> tuple[Operand, ...]: ...

    @overload
    def if_(
        self,
        condition: OperandLike,
        then_branch: Callable[[], OperandLike],
        else_branch: Callable[[], OperandLike],
    ) -> Operand: ...

    @overload
    def if_(self, condition: OperandLike) -> IfBlock: ...

    def if_(
        self,
        condition: OperandLike,
        then_branch: Callable[[], object] | None = None,
        else_branch: Callable[[], object] | None = None,
    ) -> Operand | tuple[Operand, ...] | IfBlock:
        """An If node; each branch is a function without arguments that returns an operand or a tuple of them.

        Without functions it is a `with` block that has a block for each branch:

            with b.if_(condition) as branches:
                with branches.then:
                    branches.then.set_results(x / 2)
                with branches.else_:
                    branches.else_.set_results(x)
            y = branches.results

        Branches may read all operands of the enclosing graphs.
        """
        if then_branch is None and else_branch is None:
            return IfBlock(self._state, condition)
        return results_of(add_if(self._state, condition, then_branch, else_branch))

    @overload
    def loop(
        self,
        body: Callable[..., object],
        *carried: OperandLike,
        trip_count: OperandLike | None = None,
        condition: OperandLike | None = None,
    ) -> Results: ...

    @overload
    def loop(
        self,
        *,
        trip_count: OperandLike | None = None,
        condition: OperandLike | None = None,
        initial: Sequence[OperandLike] = (),
    ) -> LoopBlock: ...

    def loop(
        self,
        body: Callable[..., object] | None = None,
        *carried: OperandLike,
        trip_count: OperandLike | None = None,
        condition: OperandLike | None = None,
        initial: Sequence[OperandLike] = (),
    ) -> Results:
        """A Loop node; `body(iteration, condition, *carried)` returns the next condition, the next carried values, and the
        elements that an iteration adds to the scan outputs.

        The results are the final carried values and the scan outputs.  The body is called again if an iteration changes the
        type of a carried value.  Without a function, `loop` is a `with` block, and carried values must keep their types:

            with b.loop(initial=[x], trip_count=4) as loop:
                (total,) = loop.carried
                loop.set_next(total + x)  # condition=...: whether there is a next iteration
                loop.collect(total)
            final, totals = loop.results
        """
        values = items_of("initial", initial, object, "operands")
        if body is None:
            return LoopBlock(self._state, values, trip_count, condition)
        refuse_initial(values)
        return results_of(add_loop(self._state, body, carried, trip_count, condition))

    @overload
    def scan(
        self,
        body: Callable[..., object],
        *carried: OperandLike,
        scan_inputs: Sequence[OperandLike],
        **attributes: object,
    ) -> Results: ...

    @overload
    def scan(
        self,
        *,
        scan_inputs: Sequence[OperandLike],
        initial: Sequence[OperandLike] = (),
        **attributes: object,
    ) -> ScanBlock: ...

    def scan(  # type: ignore[misc]  # attributes have other names
        self,
        body: Callable[..., object] | None = None,
        *carried: OperandLike,
        scan_inputs: Sequence[OperandLike],
        initial: Sequence[OperandLike] = (),
        **attributes: object,
    ) -> Results:
        """A Scan node; `body(*carried, *slices)` returns the next carried values and the slices of the scan outputs.

        attributes: attributes of Scan, such as `scan_input_axes`.  Without a function, `scan` is a `with` block:

            with b.scan(initial=[zeros], scan_inputs=[x]) as scan:
                (total,), (row,) = scan.carried, scan.slices
                scan.set_next(total + row)
                scan.collect(total + row)
            final, partial = scan.results
        """
        values = items_of("initial", initial, object, "operands")
        if body is None:
            return ScanBlock(self._state, values, scan_inputs, attributes)
        refuse_initial(values)
        return results_of(add_scan(self._state, body, carried, scan_inputs, attributes))

    def subgraph(self, body: Callable[..., object], *types: Type | None, taken: bool = True) -> Graph:
        """A subgraph for an attribute of `op`, with the nodes that `body` appends.

        body: a function of one operand for each type.  The subgraphs of If, Loop and Scan are simpler to write with `if_`,
        `loop` and `scan`.
        types: the types of the inputs of the subgraph.
        taken: False for a branch that no run takes: its values get no types, so that operators that reject their inputs are
        accepted.
        """
        for type in types:
            require_type_or_none("types", type)
        require_type("taken", taken, bool, "a bool")
        return (build_graph if taken else build_untaken_graph)(self._state, "body", body, types)

    def function(self, *, domain: str = "local", name: str = "") -> Callable[[F], FunctionMaker]:
        """A decorator that makes a model-local function of a Python function.

            @b.function(domain="blocks")
            def dense(x, w, *, alpha: float = 0.1):
                return b.LeakyRelu(x @ w, alpha=alpha)

            y = dense(x, weights, alpha=0.2)

        Positional parameters are inputs, keyword-only parameters attributes, whose types are those of their annotations
        (int, float, str, list[int], list[float], list[str]) or defaults.  The body is built at the first call, for the
        types of its arguments.
        """
        require_text("domain", domain)
        require_text("name", name)
        if not domain or domain in (*domains(), *vendor_domains()):
            raise InputError(f"domain must be one that no operators have; got {domain!r}", name="domain")

        def make(body: F) -> FunctionMaker:
            return FunctionMaker(self._state, body, domain, name or body.__name__)

        return make

    def output(self, value: OperandLike, name: str = "", type: Type | None = None) -> Operand:
        """Makes an operand an output of the model, with another name or a declared type if they are given.

        An input, or an operand that has become an output under another name, is copied by an Identity node.
        """
        require_text("name", name)
        require_type_or_none("type", type)
        return add_output(self._state, value, name, type)

    def model(
        self, *, ir_version: int | None = None, producer: str = "sardonyx", **outputs: OperandLike
    ) -> Model:
        """The complete model; operands given by keyword become outputs, in addition to those of `output`.

        ir_version: by default 10, or later if the model needs it.  Raises InputError for a model without outputs and for an
        output of unknown type, and ConversionError if an explicit version lacks something that the model uses.
        """
        require_text("producer", producer)
        require_integer("ir_version", ir_version, optional=True)
        for name, value in outputs.items():
            add_output(self._state, value, name, None)
        return finish_model(self._state, ir_version, producer)

    def select(self, operand: Operand, index: object) -> Operand:
        """The part of an operand at an index: `operand[index]`."""
        require_type("operand", operand, Operand, "an Operand")
        return select_part(self, operand, index)

    def compute(self, operand: Operand) -> Any:
        """The operand's value: `operand.numpy()`."""
        require_type("operand", operand, Operand, "an Operand")
        return compute_value(self._state.model, operand)


def results_of(node: Node) -> Operand | tuple[Operand, ...]:
    """The output of a node, or the tuple of its outputs, with None for those left out."""
    results = tuple(value if value.name else None for value in node.outputs)
    return results[0] if len(results) == 1 else results  # type: ignore[return-value]


def refuse_initial(values: Sequence[object]) -> None:
    if values:
        raise InputError(
            "initial belongs to a `with` block; pass carried values after the function", name="initial"
        )
