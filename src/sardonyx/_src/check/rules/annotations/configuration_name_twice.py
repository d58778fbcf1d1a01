"""SX530 configuration-name-twice: two device configurations of a model have the same name.

Clause: IR.md, "Device Configurations"
Catalogue: DEV-11
Why:    nodes refer to configurations by name, which is ambiguous here.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}, {name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}, {name: "d", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto


@rule("SX530", visits=ModelProto, since=11)
def check_configuration_name_twice(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, configuration in enumerate(model.configuration):
        if configuration.name and first.setdefault(configuration.name, i) != i:
            message = f"configuration[{first[configuration.name]}] also has this name"
            yield Finding(f"configuration[{i}].name", message, "rename one of the two")
