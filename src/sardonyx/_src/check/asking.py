"""Rules that need types: the model is built from the records, its types are inferred, and the rules are asked on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from sardonyx._src.check.agreement import agreeing
from sardonyx._src.check.api import Finding, Rule
from sardonyx._src.check.context import Document, Trail
from sardonyx._src.check.density import densify
from sardonyx._src.check.engine import Located, steps_of
from sardonyx._src.check.pages import rules
from sardonyx._src.check.places import Places
from sardonyx._src.check.soundness import broken_nodes, without_meaning
from sardonyx._src.check.uses import SUBJECTS, Declaration, RefusedCall, Subject, Typed, Use, function_of
from sardonyx._src.errors import InferenceError, InvalidModel, SardonyxError
from sardonyx._src.infer.plan import Plan
from sardonyx._src.infer.walk import infer
from sardonyx._src.infer.witness import Asker
from sardonyx._src.io import from_proto
from sardonyx._src.io.external import ExternalFiles
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Model, Node, Value
from sardonyx._src.ir.types import Type
from sardonyx._src.proto import messages as m

Asked = Mapping[Subject, Sequence[Rule]]


def needs_types(chosen: Collection[str], ir_version: int) -> Asked:
    """The chosen rules that need types and hold for an IR version, by what they are asked about."""
    result: dict[Subject, list[Rule]] = {about: [] for about in (Use, RefusedCall, Declaration, Typed)}
    for code, one in rules().items():
        if code in SUBJECTS and code in chosen and one.since <= ir_version <= one.until:
            result[SUBJECTS[code]].append(one)
    return result


def type_faults(document: Document, chosen: Collection[str], found: Iterable[Located]) -> list[Located]:
    """What the rules that need types find, where the structure, of which `found` has the faults, can be relied on.

    Of nodes with a fault nothing is told, and nothing that follows from them.
    """
    asked = needs_types(chosen, document.ir_version)
    record = document.model
    broken = broken_nodes(found)
    if record is None or broken is None or not any(asked.values()):
        return []
    try:
        model = from_proto.model(record, ExternalFiles(document.path, document.policy))
        places = Places(record, model)
        densify(model)
        without_meaning(model, places, broken)
        witness = Asking(asked)
        infer(model, errors=[], witness=witness)
    except SardonyxError:  # what cannot be read, or is nested too deep
        return []
    return list(witness.located(record, model, places))


@dataclass(slots=True)
class Asking:
    """A witness of an inference that asks the rules; each distinct question once, unless somebody finds fault."""

    rules: Asked
    clean: dict[tuple[int, int], tuple[Plan, Sequence[Type | None]]] = field(default_factory=dict)
    found: dict[tuple[Node, str, str], tuple[Rule, Finding]] = field(default_factory=dict)
    declarations: list[Declaration] = field(default_factory=list)
    agreements: list[tuple[Node, Dim, Dim]] = field(default_factory=list)

    def asked(
        self,
        asker: Asker,
        node: Node,
        plan: Plan | None,
        types: Sequence[Type | None],
        fault: InferenceError | None,
    ) -> Sequence[Type | None]:
        """Of a node with a fault no types are known, so that nothing follows from it."""
        if not node.op_type:
            return ()
        key = (id(plan), id(types))
        if fault is None and (plan is None or (key in self.clean and types)):
            return types
        if self.ask(asker, node, plan, types, fault):
            return ()
        if fault is None and plan is not None:
            self.clean[key] = (plan, types)  # which keeps both from leaving their ids to others
        return types

    def ask(
        self,
        asker: Asker,
        node: Node,
        plan: Plan | None,
        types: Sequence[Type | None],
        fault: InferenceError | None,
    ) -> bool:
        """Whether a rule finds fault with a node."""
        subject: Use | RefusedCall
        try:
            question = asker.question(node, plan) if plan is not None else None
        except InvalidModel:  # of its attributes
            question = None
        if plan is not None and question is not None:
            subject = Use(node, plan.schema, question, types, fault)
            if fault is None:
                self.agreements += [(node, *pair) for pair in agreeing(subject)]
        else:
            assert fault is not None, "a node of which nothing can be asked has been refused"
            subject = RefusedCall(node, fault)
        return self.note(node, type(subject), subject)

    def declared(
        self, value: Value, producer: Node, declared: Type, found: Type, fault: InferenceError | None
    ) -> None:
        if fault is None and declared == found:
            return
        one = Declaration(value, producer, declared, found, fault)
        if fault is None:
            self.declarations.append(one)
        else:
            self.note(producer, Declaration, one)

    def note(self, node: Node, about: Subject, subject: Use | RefusedCall | Declaration) -> bool:
        """Keeps what the rules find, once for each place; tells whether that is anything."""
        some = False
        for rule in self.rules[about]:
            for finding in asking(rule)(subject):
                self.found.setdefault((node, rule.code, finding.at), (rule, in_call(node, finding)))
                some = True
        return some

    def located(self, record: m.ModelProto, model: Model, places: Places) -> Iterator[Located]:
        """The findings about nodes, and those of the rules about the whole model."""
        pairs = [
            (rule, at(path, finding))
            for (node, *_), (rule, finding) in self.found.items()
            if (path := places.of(node))
        ]
        whole = Typed(model, self.declarations, self.agreements, places.of)
        for rule in self.rules[Typed]:
            pairs += [(rule, finding) for finding in asking(rule)(whole)]
        for rule, finding in pairs:
            yield Located(rule, finding, steps_of(m.ModelProto, finding.at), Trail(record))


def asking(rule: Rule) -> Callable[[Use | RefusedCall | Declaration | Typed], Iterator[Finding]]:
    """The function of a rule that needs types."""
    return cast("Callable[[Use | RefusedCall | Declaration | Typed], Iterator[Finding]]", rule.ask)


def at(path: str, finding: Finding) -> Finding:
    """The finding as seen from the model, where `path` leads to the record that it is about."""
    return replace(finding, at=f"{path}.{finding.at}" if finding.at else path)


def in_call(node: Node, finding: Finding) -> Finding:
    """A finding in a function, with the types of the call in which it was made."""
    function = function_of(node)
    if function is None:
        return finding
    types = ", ".join(str(value.type or "?") for value in function.body.inputs)
    return replace(finding, says=f"{finding.says}, in a call with ({types})")
