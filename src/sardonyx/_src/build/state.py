"""The state that the modules of the builder share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field

from sardonyx._src.build.operand import OperandOwner
from sardonyx._src.build.scopes import Scopes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.ir import Model, Value
from sardonyx._src.ir.references import Bindings
from sardonyx._src.schema import domains, latest, vendor_domains


@dataclass(slots=True)
class BuilderState:
    """The model under construction, its inference and its names.

    owner: the builder.
    scopes: the graphs under construction.
    names: the names in use.
    literals: the constants of small literals, by type and bytes.
    automatic: all constants that literals became; those that nothing reads are left out of the model.
    pending: the `with` blocks that are not yet left, each with a phrase for it.
    bindings: the attributes of the function under construction in its first call.
    is_typing: whether results are typed; False in a subgraph that no run takes.
    count: the number of names that have been generated.
    """

    owner: OperandOwner
    model: Model
    scopes: Scopes
    inference: InferenceState = field(init=False)
    names: set[str] = field(default_factory=set)
    literals: dict[Hashable, Value] = field(default_factory=dict)
    automatic: set[Value] = field(default_factory=set)
    pending: dict[object, str] = field(default_factory=dict)
    bindings: Bindings = field(default_factory=dict)
    is_typing: bool = True
    count: int = 0

    def __post_init__(self) -> None:
        self.inference = InferenceState(self.model, None)

    def import_domain(self, domain: str) -> dict[str, int]:
        """The imports; the domain is added in its newest version if it is not imported yet."""
        imports = self.model.opset_imports
        if domain not in imports:
            imports[domain] = latest(domain) if domain in (*domains(), *vendor_domains()) else 1
        return imports

    def fresh_name(self, stem: str) -> str:
        """A name that begins with `stem` and that no value has."""
        while True:
            self.count += 1
            name = f"{stem}_{self.count}"
            if name not in self.names:
                return self.reserve(name)

    def reserve(self, name: str) -> str:
        """Reserves a name for a value; raises InputError if another value has it."""
        if name in self.names:
            raise InputError(f"the names of values must differ; there is another {name!r}", name=name)
        self.names.add(name)
        return name
