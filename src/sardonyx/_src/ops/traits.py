"""Traits of operators: properties that rewriting, compilation and checking read instead of lists of names.

A trait is a keyword argument of `Operator`, declared in the operator's own file.  Its readers look up the operator of a node
in the registry, so that they know an operator as soon as it is declared.  Unless its description says otherwise, a trait
holds for every version of an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Literal

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node

Tolerance = Literal["exact", "rounding", "random"]
DataMovement = bool | Literal["without_reduction"]
# "softmax" holds from version 13, which works along one axis; earlier versions work along all axes from that one on.
PermutationRule = Literal[
    "along_axis",
    "softmax",
    "concat",
    "squeeze",
    "gather",
    "matmul",
    "slice",
    "pad",
    "per_tensor_quantization",
]
# operands: constant operands, which are as long as the data
# loop_states, scan_states: the initial values of loop-carried ones
SizeRule = Literal[
    "target_shape",
    "broadcast_shape",
    "lengths",
    "slice_ends",
    "operands",
    "initial_states",
    "loop_states",
    "scan_states",
]
OrderRule = Literal["always", "permutation", "gather"]
LinearLayerKind = Literal["conv", "conv_transpose", "gemm", "batch_normalization"]
MatrixProductKind = Literal["matmul", "gemm"]
LegacyBroadcastKind = Literal["one_way", "none", "slope", "addend"]


@dataclass(frozen=True, slots=True)
class EnumValues:
    """The values that a string attribute, or each entry of a list, may have.

    by_version: the first version of the operator with these values, and the values; newest first.
    """

    by_version: tuple[tuple[int, frozenset[str]], ...]
    ignores_case: bool = False

    def in_version(self, version: int) -> frozenset[str] | None:
        """The values that a version of the operator allows; None if they are not restricted."""
        return next((values for first, values in self.by_version if first <= version), None)

    def is_allowed(self, value: str, version: int) -> bool:
        values = self.in_version(version)
        if values is None or value in values:
            return True
        return self.ignores_case and value.lower() in {allowed.lower() for allowed in values}


def enum_values(*values: str, ignores_case: bool = False) -> EnumValues:
    """The same values in all versions."""
    return EnumValues(((1, frozenset(values)),), ignores_case)


def enum_values_by_version(values: Mapping[int, Iterable[str]]) -> EnumValues:
    """The values by the first version of the operator that has them."""
    return EnumValues(
        tuple((version, frozenset(values[version])) for version in sorted(values, reverse=True))
    )


@dataclass(frozen=True, slots=True)
class LegacyBroadcast:
    """The broadcasting of an operator in the operator sets up to `last_opset`; later ones broadcast more.

    The kinds are:
    one_way: input 1 is broadcast to input 0, as the attributes `broadcast` and `axis` say
    none: all inputs have the same shape
    slope: input 1 has one element, one for each channel, or the shape of input 0
    addend: input 2 has the shape of the output unless the attribute `broadcast` is set
    """

    kind: LegacyBroadcastKind
    last_opset: int


def is_rounded(dtype: DataType) -> bool:
    """Whether numbers of a type are rounded."""
    return dtype.is_float or dtype.is_complex


@dataclass(eq=False, kw_only=True)
class OperatorTraits:
    """The traits of an operator.

    Numerics
    tolerance: how far two correct implementations may differ: not at all, by rounding, or in all but distribution.
    fixed_rounding: although others may round otherwise, IEEE 754 defines every bit of its reference kernels' results: they
    consist of its operations, in an order that no processor changes.
    elementwise: element i of the output depends only on element i of the (broadcast) inputs.
    commutative: the order of the inputs does not matter.
    reduction: reduces the axes that the attribute or input `axes` lists, and keeps them with length 1 if `keepdims` is set.

    Half precision
    moves_data: the elements of the results are elements of the inputs, or constants; for a scatter, without a reduction.
    casts: converts the element type.
    reads_shape: reads the shape of its input, not the elements.
    reads_bits: reads the bits of elements, which change with their type.
    computes_in_float32: half precision is computed in float32 and every result rounded once.  Elementwise operators always
    compute so.
    exact_in_half: results computed in float32 from half-precision inputs need no rounding: they are elements of the inputs
    or their negatives, or integers that half precision holds.

    Rewriting
    under_permutation: how a node computes the same from untransposed inputs; elementwise operators and reductions need no
    rule.
    keeps_order: whether it returns the elements of its first input in order, with another shape: always, when the
    permutation moves only axes of length 1, or when the indices take the one entry of an axis.
    linear_layer: how the weights and biases of a linear layer, inputs 1 and 2, correspond to output channels.
    matrix_product: along which axis it sums products with a matrix, input 1: the first one, or with `transB` the second.
    legacy_broadcast: the restricted broadcasting of its first versions.
    replacement_accepts_more: whether the operators that replace a withdrawn one accept sizes that it rejects.

    Sizes held in constants
    size_rule: which constants of a node hold sizes of its data, and change with them.
    sizes_input: the input whose integers may be such sizes, if nothing else tells.

    Compilation
    parameters: the inputs that say what to compute, such as axes, sizes and counts; the others are data.
    counts: the inputs of which each is a number, at least 0, on which sizes of results depend.

    Checking
    enum_attributes: the values of string attributes that list them.
    stash_type_constraint: the type constraint that lists the types of intermediate results; None: any float type.
    body_inputs: for an operator with subgraphs: a function from the number of its inputs to the number of inputs of a subgraph.

    Runs
    string_keys: the attributes that list the keys of a look-up; each element of its result depends only on one of its input.
    returns_copies: whether the results of its kernels, including sequences and maps, share no memory with the inputs.
    """

    tolerance: Tolerance = "exact"
    fixed_rounding: bool = False
    elementwise: bool = False
    commutative: bool = False
    reduction: bool = False
    moves_data: DataMovement = False
    casts: bool = False
    reads_shape: bool = False
    reads_bits: bool = False
    computes_in_float32: bool = False
    exact_in_half: bool = False
    under_permutation: PermutationRule | None = None
    keeps_order: OrderRule | None = None
    linear_layer: LinearLayerKind | None = None
    matrix_product: MatrixProductKind | None = None
    legacy_broadcast: LegacyBroadcast | None = None
    replacement_accepts_more: bool = False
    size_rule: SizeRule | None = None
    sizes_input: int | None = None
    parameters: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    enum_attributes: Mapping[str, EnumValues] = field(default_factory=dict)
    stash_type_constraint: str | None = None
    body_inputs: Callable[[int], int] | None = None
    string_keys: tuple[str, ...] = ()
    returns_copies: bool = False

    @property
    def is_random(self) -> bool:
        return self.tolerance == "random"

    def has_fixed_bits(self, dtypes: Iterable[DataType]) -> bool:
        """Whether reference kernels compute the same bits on every processor.  dtypes: of the inputs and outputs of a node."""
        return self.tolerance == "exact" or self.fixed_rounding or not any(map(is_rounded, dtypes))

    def is_data_movement(self, node: Node) -> bool:
        """Whether a node of this operator only moves data."""
        if self.moves_data != "without_reduction":
            return self.moves_data
        reduction = node.attributes.get("reduction")
        return reduction is None or reduction.value == b"none"
