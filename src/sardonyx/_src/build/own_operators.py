"""Operators that callers define: a Python function becomes the kernel of an operator that models can use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Literal, TypeAlias, TypeVar, cast, get_args
from weakref import WeakKeyDictionary

from sardonyx._src.arguments import (
    require_choice,
    require_flag,
    require_integer,
    require_mapping,
    require_text,
    require_type,
    texts_of,
    type_name,
)
from sardonyx._src.build.expressions import body_text
from sardonyx._src.build.function_signatures import schema_of_function, tensor_types, vendor_signature
from sardonyx._src.build.gradient_functions import GradientFunction, gradient_facet
from sardonyx._src.build.native_kernels import native_kernel
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Type
from sardonyx._src.ops.api import GRADIENTS, OPERATORS, Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.native_kernel import NativeKernel, UnitsOfWork
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import Tolerance
from sardonyx._src.schema import OpSchema, domains, latest, vendor_domains, vendor_names

F = TypeVar("F", bound=Callable[..., object])
TypeRule: TypeAlias = "Literal['same'] | Callable[..., Type | Sequence[Type | None] | None] | None"
OWN: set[tuple[str, str]] = set()  # domain and name of the operators that this module has registered


def operator(
    domain: str,
    *,
    name: str = "",
    version: int = 1,
    inputs: Mapping[str, str] | None = None,
    outputs: Mapping[str, str] | Sequence[str] = ("y",),
    types: Mapping[str, Sequence[str]] | None = None,
    infer: TypeRule = None,
    expression: Callable[..., object] | None = None,
    gradient: GradientFunction | None = None,
    native: object = None,
    units: UnitsOfWork = "elements",
    tolerance: Tolerance = "exact",
    register: bool = True,
) -> Callable[[F], F]:
    """A decorator that makes an operator of a function over arrays.

        @sx.operator("com.example", types={"T": ["float", "double"]}, inputs={"x": "T"}, outputs={"y": "T"}, infer="same")
        def Shift(x, *, amount: float = 1.0):
            return x + np.asarray(amount, x.dtype)

    From then on the checker, inference, both engines and `sx.Builder` know the operator.  Positional parameters are inputs
    (with default None: optional; `*xs`: any number).  Keyword-only parameters are attributes of the type of their annotation
    or default, and `context`, a `sardonyx.plugins.RunContext`, is the run of the call: it binds graphs that are attributes.
    The function receives arrays (or lists, dicts, None, for other types), and returns one, or a tuple for several outputs.

    domain: one of your own.  In a vendor's domain, the function is the kernel of an operator whose signature is known, but
        that nothing implements; it has the inputs and attributes of that signature.
    name: the name of the operator; by default that of the function.
    version: the version of the operator set `domain`.
    inputs, outputs: the type variable or type (`"tensor(int64)"`) of each; inputs that are not named accept every tensor.
    types: the element types of each type variable.
    infer: the types of the outputs: `"same"` if the output has the type of the first input, or a function of the types of the
        inputs (None: unknown) and the attributes, which returns the type of the output, or a type for each output.  A
        function of a `sardonyx.plugins.Inference`, which its annotation says, also sees known elements and makes new sizes.
    expression: the operator in terms of others, `expression(b, *operands, **attributes)` with a builder `b`.  The native
        engine compiles it, `sx.gradient` differentiates it, and `sx.convert` inlines it.
    gradient: the gradients of the inputs, `gradient(b, inputs, outputs, gradients, **attributes)` with a builder and lists of
        operands; `gradients` are those of the outputs.  It returns a gradient for each input, None for an input without one.
        It takes precedence over the expression.
    native: a kernel for the native engine: a function that writes it (`sardonyx.plugins.KernelWriter`), or a C function, as
        an address or as an object of ctypes.
    units: how the first output is divided among threads: into "elements", into "rows" along the last axis, or not at all for
        "call".
    tolerance: how far correct results may differ: "exact", by "rounding", or in all but distribution ("random").
    register: whether the whole process knows the operator; if not, only sessions that receive the function know it
        (`sx.Session(model, operators=[Shift])`).

    Raises InputError for a domain of ONNX, for a name that other code has registered there, and for parameters without a
    type.  A second definition by this decorator replaces the first.
    """
    require_text("domain", domain)
    require_text("name", name)
    require_integer("version", version, 1)
    require_mapping("inputs", {} if inputs is None else inputs, str, str, "names to types")
    if isinstance(outputs, Mapping):
        require_mapping("outputs", outputs, str, str, "names to types")
    require_mapping("types", {} if types is None else types, str, Sequence, "type variables to element types")
    if not (infer is None or callable(infer) or (isinstance(infer, str) and infer == "same")):
        raise TypeError(f"infer must be 'same', a function or None; got {type_name(infer)}")
    require_choice("tolerance", tolerance, get_args(Tolerance))
    require_flag("register", register)
    require_type("expression", expression, (FunctionType, type(None)), "a function or None")
    require_type("gradient", gradient, (FunctionType, type(None)), "a function or None")
    variables = {key: tensor_types(key, value) for key, value in (types or {}).items()}
    if not domain or domain in domains():
        raise InputError(f"domain must be one of your own; got {domain!r}", name="domain")
    output_types = (
        outputs if isinstance(outputs, Mapping) else dict.fromkeys(texts_of("outputs", outputs), "any output")
    )

    def define(function: F) -> F:
        require_type("function", function, FunctionType, "a function with named parameters")
        title = name or function.__name__
        require_own_name(domain, title)
        if domain in vendor_domains():
            schema = vendor_signature(function, domain, title, version)
        else:
            schema = schema_of_function(
                function, domain, title, version, dict(inputs or {}), output_types, variables
            )
        kernel = None if native is None else native_kernel(native, units, schema)
        definition = OwnOperator(function, schema, infer, expression, gradient, kernel, tolerance)
        DEFINITIONS[function] = definition
        if register:
            register_definition(definition)
        return function

    return define


@dataclass(frozen=True, slots=True, eq=False)
class OwnOperator:
    """An operator that a caller has defined: its kernel, its signature, and the other arguments of `operator`."""

    function: Callable[..., object]
    schema: OpSchema
    infer: TypeRule
    expression: Callable[..., object] | None
    gradient: GradientFunction | None
    native: NativeKernel | None
    tolerance: Tolerance


DEFINITIONS: WeakKeyDictionary[Callable[..., object], OwnOperator] = WeakKeyDictionary()


def register_definition(definition: OwnOperator) -> None:
    """Registers the operator; it replaces an earlier definition by `operator`."""
    function, schema = definition.function, definition.schema
    claim(schema.domain, schema.name)
    about = (inspect.getdoc(function) or "").partition("\n")[0]
    brought = () if schema.domain in vendor_domains() else (schema,)
    op = Operator(
        schema.name,
        schema.domain,
        brought,
        module=function.__module__,
        about=about,
        tolerance=definition.tolerance,
    )
    op.eval(schema.since_version)(function)
    op.infer(schema.since_version)(type_facet(definition.infer))
    if definition.native is not None:
        op.natives[schema.since_version] = definition.native
    if definition.gradient is not None:
        op.gradient(schema.since_version)(gradient_facet(definition.gradient, schema))
    if definition.expression is not None:
        facet = definition.expression
        op.body(schema.since_version, opset=latest(""))(
            lambda inference: body_text(facet, schema, inference, latest(""))
        )


def claim(domain: str, name: str) -> None:
    """Removes an earlier definition of an operator by a caller; raises InputError for a definition by other code."""
    require_own_name(domain, name)
    key = domain, name
    if key in OPERATORS and key not in OWN:
        raise InputError(f"{domain}.{name} is registered already, by other code", name="name")
    if (old := OPERATORS.pop(key, None)) is not None:
        for version in old.kernels:
            GRADIENTS.pop((*key, version), None)
    OWN.add(key)


def require_own_name(domain: str, name: str) -> None:
    """Raises InputError unless the name is in a domain of the caller's, or is one that a vendor gives an operator."""
    is_vendor = domain in vendor_domains()
    if not domain or domain in domains() or (is_vendor and name not in vendor_names(domain)):
        raise InputError(f"domain must be one of your own; got {domain!r}", name="domain")
    if is_vendor:
        find(domain, name)  # imports what implements it, if anything does


def type_facet(rule: TypeRule) -> Callable[[Inference], Result]:
    """The infer facet of a rule for output types."""

    def same(inference: Inference) -> Result:
        return inference.type(0)

    def nothing(_: Inference) -> Result:
        return None

    if rule is None or rule == "same":
        return nothing if rule is None else same
    if takes_inference(rule):
        return cast("Callable[[Inference], Result]", rule)
    return lambda inference: rule(*inference.inputs, **inference.attributes)


def takes_inference(rule: Callable[..., object]) -> bool:
    """Whether a parameter of a rule is annotated with `Inference`."""
    annotations = getattr(rule, "__annotations__", {}).items()
    kinds = [kind for name, kind in annotations if name != "return"]
    return any(kind is Inference or str(kind).rpartition(".")[2] == Inference.__name__ for kind in kinds)
