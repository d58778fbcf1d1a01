"""Operators from classes written for onnx's evaluator, which have a domain and a method `_run`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

import numpy as np

from sardonyx._src.build.function_signatures import TENSORS
from sardonyx._src.build.own_operators import claim
from sardonyx._src.compat.kernel_signatures import declare_attributes
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.api import Operator
from sardonyx._src.schema import OpSchema
from sardonyx._src.schema.signature import AttributeSchema, Parameter

ANY = "any tensor"


def define_operators(classes: Iterable[type], model: Model) -> None:
    """Registers an operator for each class, with the attributes that the model's nodes state.

    Raises InputError for a class without a domain of its own or without `_run`.
    """
    for cls in classes:
        run = getattr(cls, "_run", None)
        domain = getattr(cls, "op_domain", None)
        if not isinstance(cls, type) or not callable(run) or not isinstance(domain, str):
            raise InputError(f"new_ops must be classes with op_domain and _run; got {cls!r}", name="new_ops")
        define_operator(cls, run, domain, model)


def define_operator(cls: type, run: Callable[..., object], domain: str, model: Model) -> None:
    parameters = list(inspect.signature(run).parameters.values())[1:]
    least = sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    schema = OpSchema(
        domain,
        cls.__name__,
        1,
        inputs=(Parameter("inputs", ANY, "variadic", homogeneous=False, min_arity=0),),
        outputs=(Parameter("outputs", ANY, "variadic", homogeneous=False),),
        attributes=stated_attributes(domain, cls.__name__, model),
        type_constraints={ANY: TENSORS},
        min_inputs=least,
        min_outputs=1,
    )
    claim(domain, cls.__name__)
    op = Operator(
        cls.__name__, domain, (schema,), module=cls.__module__, about=(cls.__doc__ or "").partition("\n")[0]
    )
    op.infer(1)(lambda _: None)
    op.eval(1)(kernel_of(cls, run, tuple(schema.attributes)))


def stated_attributes(domain: str, name: str, model: Model) -> dict[str, AttributeSchema]:
    """The attributes that the model's nodes of this operator have, none of them required: a class does not declare attributes."""
    stated: dict[str, AttributeType] = {}
    graphs = [*roots(model), *(function.body for function in model.functions.values())]
    for node in (node for graph in graphs for node in nodes(graph)):
        if (node.domain, node.op_type) == (domain, name):
            stated |= {attribute.name: attribute.type for attribute in node.attributes.values()}
    return {key: AttributeSchema(key, kind.name) for key, kind in stated.items()}  # type: ignore[arg-type]  # its names


def kernel_of(cls: type, run: Callable[..., object], attributes: tuple[str, ...]) -> Callable[..., object]:
    """A kernel that calls `_run` of an object of the class.

    The object is made without its constructor, which would require a node of the package onnx.
    """

    def kernel(*inputs: object, **options: object) -> object:
        results = run(object.__new__(cls), *inputs, **options)
        items = results if isinstance(results, tuple) else (results,)
        arrays = tuple(np.asarray(item) if isinstance(item, np.generic) else item for item in items)
        return arrays if len(arrays) > 1 else arrays[0]

    declare_attributes(kernel, attributes)
    return kernel
