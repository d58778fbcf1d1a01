"""Models and functions: graphs with the operator sets that they import."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.arguments import require_type
from sardonyx._src.dataclass import dataclass
from sardonyx._src.formatters import format_html
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.details import SourceDetails
from sardonyx._src.ir.graph import Attribute, Graph, Value, describe_graph
from sardonyx._src.ir.metadata import Metadata

if TYPE_CHECKING:
    from sardonyx._src.ir.devices import DeviceConfiguration


class Function:
    """A model-local function: a body whose inputs are the formal parameters."""

    __slots__ = (
        "attributes",
        "body",
        "details",
        "doc",
        "domain",
        "metadata",
        "name",
        "opset_imports",
        "overload",
        "stated_imports",
    )

    def __init__(self, domain: str, name: str, body: Graph, *, overload: str = "") -> None:
        self.domain = domain
        self.name = name
        self.overload = overload
        require_type("body", body, Graph, "a Graph")
        self.body = body
        body.function = self
        self.doc = ""
        self.attributes: dict[str, Attribute | None] = {}  # None: a parameter without default
        self.opset_imports: dict[str, int] = {}
        self.stated_imports: tuple[tuple[str, int], ...] = ()  # the file's entries, if it repeats a domain
        self.metadata: Metadata = {}
        self.details: SourceDetails | None = None

    @property
    def key(self) -> FunctionKey:
        return self.domain, self.name, self.overload

    @property
    def label(self) -> str:
        """The name as printed in messages: `domain.name`, with `:overload` if the function has one."""
        return f"{self.domain or 'ai.onnx'}.{self.name}{':' + self.overload if self.overload else ''}"

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __repr__(self) -> str:
        return f"Function({self.label})"


FunctionKey: TypeAlias = tuple[str, str, str]  # domain, name, overload


@dataclass(slots=True)
class TrainingInfo:
    """A training step: `algorithm` reads values of the main graph; a binding is a pair of a state and its next value."""

    initialization: Graph | None = None
    algorithm: Graph | None = None
    initialization_binding: list[tuple[Value, Value]] = field(default_factory=list)
    update_binding: list[tuple[Value, Value]] = field(default_factory=list)
    details: SourceDetails | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A repair that loading made, or something that saving left out or changed, with its location."""

    location: str
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message}" if self.location else self.message


class Model:
    """A graph with the operator sets and functions that it uses.

    The default domain is written `""` everywhere; a file's `ai.onnx` is the same set.
    """

    __slots__ = (
        "configurations",
        "details",
        "doc",
        "domain",
        "functions",
        "graph",
        "ir_version",
        "metadata",
        "model_version",
        "notes",
        "opset_imports",
        "producer_name",
        "producer_version",
        "stated_imports",
        "training",
    )

    def __init__(self, graph: Graph, *, ir_version: int, opset_imports: dict[str, int]) -> None:
        self.graph = graph
        self.ir_version = ir_version
        self.opset_imports = opset_imports
        # The file's entries, if it repeats a domain, or if its IR version has no imports.
        self.stated_imports: tuple[tuple[str, int], ...] = ()
        self.producer_name = ""
        self.producer_version = ""
        self.domain = ""
        self.model_version: int | None = None
        self.doc = ""
        self.metadata: Metadata = {}
        self.functions: dict[FunctionKey, Function] = {}
        self.training: list[TrainingInfo] = []
        self.configurations: list[DeviceConfiguration] = []
        self.notes: list[Note] = []
        self.details: SourceDetails | None = None

    def copy(self) -> Model:
        """A copy that shares its tensors, which are never written to, and nothing else."""
        return clone(self)

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __repr__(self) -> str:
        """`Model('g', 2 nodes, x: float[N,2] -> y: float[N,2], ai.onnx 21, IR version 10)`."""
        versions = (f"{domain or 'ai.onnx'} {version}" for domain, version in self.opset_imports.items())
        parts = (describe_graph(self.graph), *versions, f"IR version {self.ir_version}")
        return f"Model({', '.join(parts)})"


def require_model(model: object) -> None:
    """Raises TypeError unless the argument `model` is a Model."""
    require_type("model", model, Model, "a Model; sx.load reads one")


def clone(model: Model) -> Model:
    """A copy of the model that shares its tensors and nothing else."""
    require_model(model)
    copier = Copier()
    result = Model(
        copier.graph(model.graph), ir_version=model.ir_version, opset_imports=dict(model.opset_imports)
    )
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc"):
        setattr(result, name, getattr(model, name))
    result.metadata = dict(model.metadata)
    result.functions = {key: clone_function(function) for key, function in model.functions.items()}
    result.training = [clone_training(step, copier) for step in model.training]
    result.configurations = [replace(c, device=list(c.device)) for c in model.configurations]
    result.notes = list(model.notes)
    result.stated_imports, result.details = model.stated_imports, model.details
    return result


def clone_function(function: Function) -> Function:
    """A copy of a function."""
    copier = Copier()
    result = Function(function.domain, function.name, copier.graph(function.body), overload=function.overload)
    result.doc = function.doc
    result.attributes = {
        name: None if default is None else copier.attribute(default)
        for name, default in function.attributes.items()
    }
    result.opset_imports = dict(function.opset_imports)
    result.metadata = dict(function.metadata)
    result.stated_imports, result.details = function.stated_imports, function.details
    return result


def clone_training(step: TrainingInfo, copier: Copier) -> TrainingInfo:
    """A copy of a training step.  copier: has copied the main graph, which contains the values that the step reads."""
    initialization, algorithm = (
        None if graph is None else copier.graph(graph) for graph in (step.initialization, step.algorithm)
    )
    initial_bindings = [(copier.resolve(a), copier.resolve(b)) for a, b in step.initialization_binding]
    update_bindings = [(copier.resolve(a), copier.resolve(b)) for a, b in step.update_binding]
    return TrainingInfo(initialization, algorithm, initial_bindings, update_bindings, step.details)
