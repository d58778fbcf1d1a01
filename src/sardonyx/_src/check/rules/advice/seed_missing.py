"""SX908 seed-missing: an operator draws random numbers without a seed.

Clause: Operators.md, RandomNormal, RandomUniform, Multinomial, Bernoulli, Dropout
Catalogue: -
Why:    two runs give different results, which are hard to test and debug.  A Dropout outside training draws no random
        numbers.
Bad:    g () => (float[2] y) { y = RandomNormal <shape = [2]> () }
Good:   g () => (float[2] y) { y = RandomNormal <shape = [2], seed = 7.0> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto

TRAINING_MODE_INPUT = 2  # the input of Dropout that enables training


@rule("SX908", "info", visits=NodeProto, cached_by_fingerprint=True, group="style")
def check_seed_missing(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per operator."""
    schema = context.schema
    if schema is None or "seed" not in schema.attributes:
        return
    if schema.name == "Dropout" and (
        len(node.input) <= TRAINING_MODE_INPUT or not node.input[TRAINING_MODE_INPUT]
    ):
        return
    if all(attribute.name != "seed" for attribute in node.attribute):
        message = f"{schema.name} without seed gives different results in each run"
        yield Finding("attribute", message, "set seed, unless that is intended", dedup_key=schema.name)
