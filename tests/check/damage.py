"""Randomly damaged documents (seeded), on which the checker must not fail."""

from __future__ import annotations

import random
from collections.abc import Iterator

from check.examples import model
from mutations import messages, mutate, mutated_bytes
from sardonyx._src.check import check
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.driver.sources import RECORD_CLASSES, DocumentKind
from sardonyx._src.check.engine.document import Document
from sardonyx._src.check.engine.findings import LocatedFinding
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.check.engine.walk import Walk, group_by_class
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import from_text

NO_TEXT = ("hex", "deep", "json", "text", "file", "link", "hard")  # examples that are not a document in text
TARGETS = (m.NodeProto, m.AttributeProto, m.TensorProto, m.ValueInfoProto, m.TypeProto, m.GraphProto)
Seed = tuple[DocumentKind, bytes]
Faults = list[tuple[str, str]]  # rule and location


def seeds() -> Iterator[Seed]:
    """The good and bad text documents of all rule pages, and small graphs with all kinds of bodies."""
    for code in rules():
        for example in (page(code).bad, page(code).good):
            word, _, rest = example.partition(" ")
            kind = next((kind for kind in RECORD_CLASSES if kind == word), None)
            if kind is not None:
                yield kind, encode(from_text(rest, RECORD_CLASSES[kind]))
            elif word not in NO_TEXT:
                yield "model", encode(model(example))
    yield from (("model", encode(model(text))) for text in BODIES)


BODIES = (
    """<opset_import: ["": 21, "com.example": 1]>
    g (float[N, 3] x, bool c, int64 n) => (float[N, 3] y) <float[3] w = {1, 2, 3}> {
        a = Add(x, w)  b = Relu(a)
        p, q = Split <num_outputs = 2, axis = 1> (b)
        d = If <then_branch = t () => (float[N, 3] e) { e = Neg(a) },
                else_branch = u () => (float[N, 3] f) { f = com.example.F <alpha = 0.5> (a, w) }> (c)
        h, s = Loop <body = l (int64 i, bool k, float[N, 3] v) => (bool k2, float[N, 3] v2, float[3] o) {
            k2 = Identity(k)  v2 = Add(v, w)  o = Mul(w, w) }> (n, c, d)
        y = com.example.F(h, w)
    }
    <domain: "com.example", opset_import: ["": 21]> F <alpha: float = 1.0> (x, w) => (z) {
        t = LeakyRelu <alpha: float = @alpha> (x)  z = Add(t, w)
    }""",
    """<ir_version: 3, opset_import: ["": 9]> g (float[1, 2] x, float[2] w) => (float[1, 2] y) <float[2] w = {1, 2}> {
        y = Scan <num_scan_inputs = 1, body = b (float[2] v) => (float[2] u) { u = Mul(v, v) }> (x)
    }""",
    """<training_info: [{initialization: i () => (float[2] r) { r = RandomNormal <shape = [2]> () },
        initialization_binding: ["w": "r"],
        algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }""",
)


def damage(seed: Seed, chance: random.Random) -> Record:
    """The document with some fields changed, cleared, duplicated or shuffled, and possibly nodes repeated."""
    kind, data = seed
    record = decode(data, RECORD_CLASSES[kind])
    for _ in range(chance.choice([1, 1, 2, 4])):
        everything = list(messages(record))
        likely = [r for r in everything if isinstance(r, TARGETS)] if chance.random() < 0.7 else []
        target = chance.choice(likely or everything)
        present = [field for field, _ in target.present()]
        field = chance.choice(present) if present and chance.random() < 0.75 else chance.choice(target.FIELDS)
        mutate(target, field, everything, chance)
        if isinstance(target, m.GraphProto | m.FunctionProto) and chance.random() < 0.3:
            repeat_nodes(target, everything, chance)
    return record


def repeat_nodes(
    body: m.GraphProto | m.FunctionProto, everything: list[Record], chance: random.Random
) -> None:
    """Adds copies of the nodes, one of them damaged."""
    copies = [decode(encode(node), m.NodeProto) for node in body.node]
    if copies:
        victim = chance.choice(list(messages(chance.choice(copies))))
        mutate(victim, chance.choice(victim.FIELDS), everything, chance)
        body.node = [*body.node, *copies]


def assert_fields_checked(seed: Seed, chance: random.Random) -> None:
    """Checks a damaged record, its bytes, and the record without the clean cache: the findings must be equal."""
    record = damage(seed, chance)
    findings = [(d.rule, d.location) for d in check(record, kind=seed[0]).diagnostics]
    findings_of_bytes = [(d.rule, d.location) for d in check(encode(record), kind=seed[0]).diagnostics]
    assert findings == findings_of_bytes, "a record and its bytes must have the same findings"
    cached, uncached = (walk(record, use_clean_cache=cache) for cache in (True, False))
    assert cached == uncached, "the clean cache must not hide findings"


def walk(record: Record, *, use_clean_cache: bool) -> list[tuple[str, object, str]]:
    document = Document(record)
    by_class = group_by_class(rules().values(), document.ir_version)
    findings: list[LocatedFinding] = Walk(document, by_class, use_clean_cache=use_clean_cache).run()
    return [(f.rule.code, f.steps, f.finding.message.partition("; did you mean")[0]) for f in findings]


def assert_bytes_checked(seed: Seed, chance: random.Random) -> None:
    """Checks damaged bytes: every diagnostic must be complete."""
    kind, data = seed
    for diagnostic in check(mutated_bytes(data, chance), kind=kind).diagnostics:
        assert diagnostic.message and diagnostic.help and diagnostic.clause
