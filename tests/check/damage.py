"""Documents made wrong by chance, for a checker that has to survive them; seeded."""

from __future__ import annotations

import random
from collections.abc import Iterator

from check.examples import model
from mutations import messages, mutate, mutated_bytes
from sardonyx._src.check import check
from sardonyx._src.check.context import Document
from sardonyx._src.check.engine import Located, Walk, by_class
from sardonyx._src.check.pages import page, rules
from sardonyx._src.check.sources import KINDS, DocumentKind
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import from_text

NO_TEXT = ("hex", "deep", "json", "text", "file", "link", "hard")  # examples that are no document in text
TARGETS = (m.NodeProto, m.AttributeProto, m.TensorProto, m.ValueInfoProto, m.TypeProto, m.GraphProto)
Seed = tuple[DocumentKind, bytes]
Faults = list[tuple[str, str]]  # rule and place


def seeds() -> Iterator[Seed]:
    """Every document in text that the rules' pages show, good and bad, and small graphs of all kinds of bodies."""
    for code in rules():
        for example in (page(code).bad, page(code).good):
            word, _, rest = example.partition(" ")
            kind = next((kind for kind in KINDS if kind == word), None)
            if kind is not None:
                yield kind, encode(from_text(rest, KINDS[kind]))
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


def damaged(seed: Seed, chance: random.Random) -> Record:
    """The document with some fields set to something else, cleared, doubled or shuffled, and perhaps nodes repeated."""
    kind, data = seed
    record = decode(data, KINDS[kind])
    for _ in range(chance.choice([1, 1, 2, 4])):
        everything = list(messages(record))
        likely = [one for one in everything if isinstance(one, TARGETS)] if chance.random() < 0.7 else []
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
    """Adds copies of the nodes; something is done to one of them."""
    copies = [decode(encode(node), m.NodeProto) for node in body.node]
    if copies:
        victim = chance.choice(list(messages(chance.choice(copies))))
        mutate(victim, chance.choice(victim.FIELDS), everything, chance)
        body.node = [*body.node, *copies]


def check_fields(seed: Seed, chance: random.Random) -> None:
    """A damaged record: reported, the same as its bytes are, and the same without a thought for forms."""
    record = damaged(seed, chance)
    faults = [(d.rule, d.location) for d in check(record, kind=seed[0]).diagnostics]
    again = [(d.rule, d.location) for d in check(encode(record), kind=seed[0]).diagnostics]
    assert faults == again, "a record and its bytes have the same faults"
    assert walked(record, forms=True) == walked(record, forms=False), "forms hide no fault"


def walked(record: Record, *, forms: bool) -> list[tuple[str, object, str]]:
    document = Document(record)
    found: list[Located] = Walk(document, by_class(rules().values(), document.ir_version), forms=forms).run()
    return [(one.rule.code, one.steps, one.finding.says.partition("; did you mean")[0]) for one in found]


def check_bytes(seed: Seed, chance: random.Random) -> None:
    """Damaged bytes: reported, as a document or as what does not decode."""
    kind, data = seed
    for one in check(mutated_bytes(data, chance), kind=kind).diagnostics:
        assert one.message and one.help and one.clause
