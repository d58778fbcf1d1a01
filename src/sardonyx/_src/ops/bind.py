"""Binding of a node to its operator: its signature, its kernel, and the attribute values that facets are given."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import cast

import numpy as np

from sardonyx._src.errors import InvalidModel, UnsupportedOperator
from sardonyx._src.ir import Attribute, AttributeValue, Node, Tensor
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.references import Bindings, bound_attributes
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.api import Operator, ReferenceKernel
from sardonyx._src.ops.attribute_domains import attribute_domains, find_invalid_value
from sardonyx._src.ops.registry import find, signature
from sardonyx._src.schema import (
    AttributeSchema,
    OpSchema,
    domains,
    latest,
    lookup,
    newest,
    vendor_domains,
    versions,
)

FOREIGN_DOMAIN_HINT = (
    "ONNX does not define the domain {domain!r}: pass an operator-set document with a function of that name as"
    " operator_sets=, or write a kernel in Python with @sx.operator({domain!r}) (docs/extending.md)"
)
# The types of attributes whose stored values are those that facets are given.
STORED_AS_GIVEN = frozenset(AttributeType[name] for name in ("FLOAT", "INT", "FLOATS", "INTS", "GRAPH"))


def version_of(node: Node, imports: Mapping[str, int]) -> int:
    """The version of the node's operator set that its model or function imports.

    Operators of vendor domains need no import, and then have the newest version.
    """
    version = imports.get(node.domain)
    if version is None and node.domain in vendor_domains():
        return latest(node.domain)
    if version is None:
        what = f"domain {node.domain or 'ai.onnx'!r} is not imported; the model imports {sorted(imports)}"
        raise InvalidModel(what, location=location(node))
    return version


def schema_of(node: Node, imports: Mapping[str, int]) -> OpSchema:
    """The signature of the node's operator under these imports.

    An operator used in an operator set older than itself is bound to its first version, as such files expect.
    Raises UnsupportedOperator if there is none.
    """
    version = version_of(node, imports)
    schema = signature(node.domain, node.op_type, version)
    if schema is None and (known := versions(node.domain, node.op_type)) and version < known[0]:
        schema = lookup(node.domain, node.op_type, known[0])
    if schema is None:
        hint = unknown_operator_hint(node.domain, version)
        where = location(node)
        raise UnsupportedOperator(
            node.domain, node.op_type, version, facet="signature", location=where, hint=hint
        )
    return schema


def unknown_operator_hint(domain: str, version: int) -> str:
    """Advice for running a model with an operator that has no signature; "" if there is none."""
    if domain in (*domains(), *vendor_domains()) and version > newest(domain):
        return f"the newest operator set known is {newest(domain)}; convert the model to it"
    return "" if domain in domains() else FOREIGN_DOMAIN_HINT.format(domain=domain)


def kernel_of(node: Node, schema: OpSchema) -> ReferenceKernel:
    """The kernel for exactly this version; raises UnsupportedOperator when there is none."""
    op = find(node.domain, node.op_type)
    kernel = op.kernels.get(schema.since_version) if op is not None else None
    if kernel is None:
        where, hint = location(node), "" if node.domain in domains() else FOREIGN_DOMAIN_HINT
        raise UnsupportedOperator(
            node.domain,
            node.op_type,
            schema.since_version,
            facet="kernel",
            location=where,
            hint=hint.format(domain=node.domain),
        )
    return kernel


def body_operator(node: Node, schema: OpSchema) -> Operator | None:
    """The node's operator if only a body defines it, and no kernel; otherwise None."""
    op = find(node.domain, node.op_type)
    version = schema.since_version
    return op if op is not None and version in op.bodies and version not in op.kernels else None


def check_runnable(node: Node, schema: OpSchema) -> None:
    """Raises UnsupportedOperator for an operator that has neither a kernel nor a body."""
    if body_operator(node, schema) is None:
        kernel_of(node, schema)


def literal_of(node: Node) -> Tensor | None:
    """The dense tensor in attribute `value` of a Constant, not decoded.

    None for other nodes, and for a Constant with another attribute or an invalid one, which its facets report.
    """
    attributes = node.attributes
    if node.op_type != "Constant" or len(attributes) != 1 or node.domain or not node.outputs:
        return None
    attribute = attributes.get("value")
    value = attribute.value if attribute is not None else None
    return value if isinstance(value, Tensor) else None


class AttributePlan:
    """The attributes of a signature, prepared for binding many nodes."""

    __slots__ = ("defaults", "domains", "kinds", "required", "schema")

    def __init__(self, schema: OpSchema) -> None:
        self.schema = schema
        declared = schema.attributes.values()
        self.defaults = {a.name: default_of(a) for a in declared if a.default is not None}
        self.kinds = {a.name: AttributeType[a.type] for a in declared}
        self.required = tuple(a.name for a in declared if a.required)
        self.domains = attribute_domains(schema)

    def bind(self, node: Node, bindings: Bindings) -> dict[str, object]:
        """The attribute values of a node, as `attributes_of` describes."""
        result = self.defaults.copy()
        for name, attribute in bound_attributes(node, bindings).items():
            if self.kinds.get(name) is not attribute.type:
                self.refuse(node, name, attribute)
            value = result[name] = (
                attribute.value if attribute.type in STORED_AS_GIVEN else plain(attribute.value)
            )
            if name in self.domains:
                self.check_value(node, name, value)
        for name in self.required:
            if name not in result:
                raise InvalidModel(f"attribute {name!r} is required and missing", location=location(node))
        return result

    def check_value(self, node: Node, name: str, value: object) -> None:
        """Raises InvalidModel for a value, as facets are given it, that the operator does not allow."""
        if why := find_invalid_value(self.schema, name, value):
            raise InvalidModel(why, location=location(node))

    def refuse(self, node: Node, name: str, attribute: Attribute) -> None:
        """Raises InvalidModel for an attribute that the signature lacks or declares with another type."""
        schema, declared = self.schema, self.kinds.get(name)
        if declared is None:
            what = f"{node.op_type}-{schema.since_version} has no attribute {name!r}; it has {sorted(self.kinds)}"
            raise InvalidModel(what, location=location(node))
        if attribute.type is not AttributeType.UNDEFINED:
            what = f"attribute {name!r} must have type {declared.name}; got {attribute.type.name}"
            raise InvalidModel(what, location=location(node))


plan_of = cache(AttributePlan)


def attributes_of(node: Node, schema: OpSchema, bindings: Bindings) -> dict[str, object]:
    """The attribute values that kernels and infer facets are given, including defaults of the schema.

    A STRING is a str, a TENSOR an array, and a list a tuple.  Raises InvalidModel for an unknown attribute, an attribute of
    another type or with a value that the operator does not allow, and a missing required one.
    """
    return plan_of(schema).bind(node, bindings)


def check_attribute_values(node: Node, schema: OpSchema) -> None:
    """Raises InvalidModel for an attribute with a value that the operator does not allow; references are not followed."""
    if not node.attributes:
        return
    plan = plan_of(schema)
    for name in plan.domains.keys() & node.attributes.keys():
        attribute = node.attributes[name]
        if not attribute.ref and attribute.type is plan.kinds.get(name):  # absent in older versions
            plan.check_value(node, name, plain(attribute.value))


def default_of(declared: AttributeSchema) -> object:
    """The value that facets are given for a default.  One of type FLOAT is rounded to float32, as it is in a model."""
    if declared.type == "FLOAT":
        return float(np.float32(cast(float, declared.default)))
    return plain(declared.default)


def plain(value: AttributeValue | object) -> object:
    """The value that facets are given for a stored attribute value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, tuple):
        is_strings = bool(value) and isinstance(value[0], bytes)
        return decode_strings(value) if is_strings else tuple(map(plain, value))
    return value


@lru_cache(maxsize=16)
def decode_strings(strings: tuple[bytes, ...]) -> tuple[str, ...]:
    """The strings that facets are given for a stored list; equal lists share one tuple, and equal strings one `str`."""
    decoded = {string: string.decode("utf-8", "surrogateescape") for string in set(strings)}
    return tuple(map(decoded.__getitem__, strings))
