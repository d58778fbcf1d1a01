"""Comparison of the sizes that a model declares for inner values with those that type inference derives from its inputs.

An inner value is any value that is neither an input nor an output of the model.  A declared dim may be a name; the analysis
decides which declarations hold in every run, which in none, and which in runs with certain input sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import SardonyxError
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.infer.merge import open_elements
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Graph, Model, SparseTensorType, TensorType, Type, Value
from sardonyx._src.ir.dims import Dim, Expr, known_equal
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import graphs, values
from sardonyx._src.phases import phase
from sardonyx._src.runtime.declarations.declared_dims import FIRST_IR_WITH_GLOBAL_NAMES
from sardonyx._src.runtime.declarations.inner_declarations import (
    InnerDeclaration,
    OpenDim,
    StaticDeclarations,
    find_declarations,
)


@phase("infer")
def analyze_declarations(model: Model) -> StaticDeclarations:
    """Compares the declarations of inner values with the types that inference derives from the types of the inputs."""
    declarations = find_declarations(model)
    if not declarations:
        return StaticDeclarations()
    try:
        inferred = infer_inner_types(model)
    except SardonyxError:  # a model that cannot be inferred: nothing is known
        return StaticDeclarations(hold=False)
    analysis = DeclarationAnalysis(
        frozenset(lone_names(symbolic_dims(model.graph.inputs))),
        frozenset(map(str, symbolic_dims(model.graph.outputs))),
        has_global_names=model.ir_version >= FIRST_IR_WITH_GLOBAL_NAMES,
        main_graph=model.graph,
    )
    for value, declaration in declarations.items():
        analysis.compare(declaration, inferred.get(value))
    return StaticDeclarations(
        analysis.hold,
        tuple(analysis.contradictions),
        tuple(analysis.open_dims),
        tuple(analysis.conditional_dims),
    )


def infer_inner_types(model: Model) -> dict[Value, Type | None]:
    """The type of each value, inferred from the types of the inputs; other declarations of the model are ignored."""
    copy = clone(model)
    pairs = list(zip(all_values(model), all_values(copy), strict=True))
    inputs = set(copy.graph.inputs)
    for _, value in pairs:
        if value.producer is not None:
            value.type = None
        elif value in inputs:
            value.type = open_elements(value.type)
    with limit_nesting():
        IncrementalInference(copy).walk()
    # A formal parameter that still has its declared type belongs to a graph that inference has not entered.
    return {
        value: None if twin.producer is None and twin.type is value.type else twin.type
        for value, twin in pairs
    }


def all_values(model: Model) -> Iterator[Value]:
    for root in (model.graph, *(function.body for function in model.functions.values())):
        for graph in graphs(root):
            yield from values(graph)


def symbolic_dims(ports: Sequence[Value]) -> list[Expr]:
    """The symbolic dims of the tensors among the given inputs or outputs."""
    types = [value.type for value in ports]
    shapes = [type.shape or () for type in types if isinstance(type, TensorType | SparseTensorType)]
    return [dim for shape in shapes for dim in shape if isinstance(dim, Expr)]


def lone_names(dims: Sequence[Expr]) -> Iterator[str]:
    """The names that are a dim by themselves, not in an expression: a run determines their lengths."""
    atoms = map(lone_atom, dims)
    yield from (atom.name for atom in atoms if isinstance(atom, Symbol))


@dataclass(slots=True)
class DeclarationAnalysis:
    """Compares declarations one by one and collects the fields of `StaticDeclarations`.

    names: the names of input sizes.
    output_names: the symbolic dims of outputs, as text.
    has_global_names: whether a name means one length throughout the model (since IR version 4).
    main_graph: the graph of the model, since every run computes all of its values.
    meanings: for each declared dim with a name that no input has, the inferred dim of the first value that declares it.
    """

    names: frozenset[str]
    output_names: frozenset[str]
    has_global_names: bool
    main_graph: Graph
    hold: bool = True
    contradictions: list[tuple[str, str]] = field(default_factory=list)
    open_dims: list[OpenDim] = field(default_factory=list)
    conditional_dims: list[OpenDim] = field(default_factory=list)
    meanings: dict[str, Dim] = field(default_factory=dict)

    def compare(self, declaration: InnerDeclaration, inferred: Type | None) -> None:
        declared = declaration.sizes.type
        if not isinstance(declared, TensorType | SparseTensorType) or declared.shape is None:
            self.hold = False  # a sequence: inference knows no sizes of its elements
            return
        shape = inferred.shape if isinstance(inferred, TensorType | SparseTensorType) else None
        if shape is None:
            self.hold = False
        elif len(shape) != len(declared.shape):
            where = declaration.location.text
            what = f"{where} must be {declared}, of rank {len(declared.shape)}; got {inferred}"
            self.hold = False
            self.contradictions.append((where, what))
        else:
            for axis, (dim, actual) in enumerate(zip(declared.shape, shape, strict=True)):
                if type(dim) is not int or dim != actual:  # most dims are numbers that hold
                    self.compare_dim(declaration, dim, actual, axis)

    def compare_dim(self, declaration: InnerDeclaration, dim: Dim, actual: Dim, axis: int) -> None:
        if dim is None:
            return
        is_determined = isinstance(actual, int) or (
            isinstance(actual, Expr) and actual.symbols() <= self.names
        )
        is_own_name = declaration.is_local or not self.has_global_names
        if not is_determined or (isinstance(dim, Expr) and is_own_name):
            self.hold = False
            return
        if isinstance(dim, Expr) and not dim.symbols() <= self.names:
            first = self.meanings.setdefault(str(dim), actual)
            self.hold = self.hold and str(dim) not in self.output_names and known_equal(first, actual) is True
            return
        equal = known_equal(dim, actual)
        self.hold = self.hold and equal is True
        if equal is True:
            return
        where = f"{declaration.location.text} axis {axis}"
        if equal is False:
            what = f"{where} must have length {dim} ({declaration.sizes.type}); got {actual}, as inferred"
            self.contradictions.append((where, what))
        elif actual is not None:
            dims = self.open_dims if declaration.graph is self.main_graph else self.conditional_dims
            dims.append(OpenDim(where, str(declaration.sizes.type), dim, actual))
