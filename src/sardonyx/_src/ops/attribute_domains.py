"""The values that attributes may have: integers by the name of the attribute, and strings by the operator.

The specification uses each name for one notion: wherever they occur, `group` counts groups and `keepdims` is a flag.
`BY_OPERATOR` lists the exceptions.  An attribute that is the number of an element type may be that of any type here; the types
that an operator allows depend on its version and are checked by facets and by the checker (SX218).  Attributes whose values
are not limited, or by limits that depend on shapes, are not listed; infer facets and kernels check the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import EnumValues
from sardonyx._src.schema import OpSchema, domains

INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class IntegerDomain:
    """The integers from `low` to `high`, both included."""

    low: int
    high: int = INT64_MAX

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.low <= value <= self.high

    def __str__(self) -> str:
        if self.high == INT64_MAX:
            return f">= {self.low}"
        return f"{self.low} or {self.high}" if self.high == self.low + 1 else f"in {self.low} to {self.high}"


FLAG, COUNT, SIZE = IntegerDomain(0, 1), IntegerDomain(0), IntegerDomain(1)
FLAGS = """
    align_corners allowzero antialias batch_axis broadcast ceil_mode center_point_box count_include_pad
    detect_negative detect_positive directions exclude_outside exclusive fmod input_forget interleaved inverse
    is_case_sensitive is_causal keepdims largest layout linear_before_reset new_axis nodes_falseleafs
    nodes_missing_value_tracks_true nodes_trueleafs noop_with_empty_axes one_class onesided output_sequence
    periodic reverse saturate scan_input_directions scan_output_directions select_last_index sorted spatial
    storage_order time_axis training_mode transA transB upper zeros
""".split()
COUNTS = """
    batch_dims block_size inputdimensions max_skip_count output_padding pads rotary_embedding_dim sample_size
    sampling_ratio split
""".split()
SIZES = """
    blocksize dilations group hidden_size kernel_shape max_gram_length min_gram_length num_groups num_outputs
    num_scan_inputs offset_group output_height output_width p pooled_shape size strides
""".split()
# Attributes that are the element type of the output, and of intermediate results.
OUTPUT_TYPE_ATTRIBUTES = frozenset(("to", "dtype", "output_datatype", "output_dtype"))
PRECISION_ATTRIBUTES = frozenset(("stash_type", "softmax_precision", "precision"))
ELEMENT_TYPE_ATTRIBUTES = OUTPUT_TYPE_ATTRIBUTES | PRECISION_ATTRIBUTES
BY_NAME: Mapping[str, IntegerDomain] = {
    **dict.fromkeys(FLAGS, FLAG),
    **dict.fromkeys(COUNTS, COUNT),
    **dict.fromkeys(SIZES, SIZE),
    "aggregate_function": IntegerDomain(0, 3),
    "left_window_size": IntegerDomain(-1),
    "post_transform": IntegerDomain(0, 4),
    "qk_matmul_output_mode": IntegerDomain(0, 3),
    "right_window_size": IntegerDomain(-1),
}
# By the names of an operator and its attribute; None: any integer.
BY_OPERATOR: Mapping[tuple[str, str], IntegerDomain | None] = {
    ("LinearAttention", "kv_num_heads"): SIZE,
    ("LinearAttention", "q_num_heads"): SIZE,
    ("LpNormalization", "p"): IntegerDomain(1, 2),
    ("Pad", "pads"): None,  # negative ones remove elements
    ("RandomNormal", "shape"): COUNT,
    ("RandomUniform", "shape"): COUNT,
    ("Reshape", "shape"): IntegerDomain(-1),
    ("TopK", "k"): COUNT,
}


def integer_domain(schema: OpSchema, attribute: str) -> IntegerDomain | None:
    """The integers that an attribute, or each entry of a list, may be; None if it has no limits of its own."""
    declared = schema.attributes.get(attribute)
    if declared is None or declared.type not in ("INT", "INTS") or schema.domain not in domains():
        return None
    if attribute in ELEMENT_TYPE_ATTRIBUTES:
        return IntegerDomain(0 if declared.default == 0 else 1, int(max(DataType)))  # 0: not specified
    key = (schema.name, attribute)
    return BY_OPERATOR[key] if key in BY_OPERATOR else BY_NAME.get(attribute)


@cache
def attribute_domains(schema: OpSchema) -> Mapping[str, IntegerDomain | EnumValues]:
    """The attributes of an operator version whose values are limited."""
    op = find(schema.domain, schema.name)
    result: dict[str, IntegerDomain | EnumValues] = dict(op.enum_attributes) if op is not None else {}
    for name in schema.attributes:
        if (domain := integer_domain(schema, name)) is not None:
            result[name] = domain
    return result


def find_invalid_value(schema: OpSchema, attribute: str, value: object) -> str:
    """The error message for an attribute with a value, as facets take it, that is not allowed; "" if it is allowed."""
    domain = attribute_domains(schema).get(attribute)
    if domain is None:
        return ""
    for entry in dict.fromkeys(value) if isinstance(value, tuple) else (value,):
        if isinstance(domain, IntegerDomain) and isinstance(entry, int) and entry not in domain:
            return f"{attribute} must be {domain}; got {entry}"
        if (
            isinstance(domain, EnumValues)
            and isinstance(entry, str)
            and not domain.is_allowed(entry, schema.since_version)
        ):
            allowed = ", ".join(sorted(domain.in_version(schema.since_version) or ()))
            return f"{attribute} must be one of {allowed}; got {entry!r}"
    return ""
