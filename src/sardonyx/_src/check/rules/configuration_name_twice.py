"""SX530 configuration-name-twice: two device configurations of a model have the same name.

Clause: IR.md, "Device Configurations"
Catalogue: DEV-11
Why:    nodes refer to configurations by their names; this one could mean either.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}, {name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}, {name: "d", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ModelProto


@rule("SX530", visits=ModelProto, since=11)
def configuration_name_twice(model: ModelProto, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, one in enumerate(model.configuration):
        if one.name and first.setdefault(one.name, i) != i:
            says = f"configuration[{first[one.name]}] has this name, too"
            yield Finding(f"configuration[{i}].name", says, "rename one of the two")
