"""SX908 seed-missing: an operator draws random numbers without a seed.

Clause: Operators.md, RandomNormal, RandomUniform, Multinomial, Bernoulli, Dropout
Catalogue: -
Why:    two runs give different results, which is hard to test and to debug.  A Dropout that does not train draws
        nothing.
Bad:    g () => (float[2] y) { y = RandomNormal <shape = [2]> () }
Good:   g () => (float[2] y) { y = RandomNormal <shape = [2], seed = 7.0> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto

TRAINING = 2  # the input of Dropout that says whether it trains


@rule("SX908", "info", visits=NodeProto, by_form=True)
def seed_missing(node: NodeProto, context: Context) -> Iterator[Finding]:
    """Once for each operator."""
    schema = context.schema
    if schema is None or "seed" not in schema.attributes:
        return
    if schema.name == "Dropout" and (len(node.input) <= TRAINING or not node.input[TRAINING]):
        return
    if all(one.name != "seed" for one in node.attribute):
        says = f"{schema.name} without seed gives another result in each run"
        yield Finding("attribute", says, "set seed, unless that is meant", once=schema.name)
