"""name-configuration: lets a node's device configuration refer to the only configuration of the model."""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import NodeDeviceConfigurationProto


@fix("SX523")
def name_configuration(violation: Violation) -> str:
    node_configuration, model = (
        violation.visited_record(NodeDeviceConfigurationProto),
        violation.document.model,
    )
    names = [configuration.name for configuration in model.configuration] if model is not None else []
    if len(names) != 1 or not names[0]:
        return ""
    node_configuration.configuration_id = names[0]
    return f"named {names[0]!r}, the only configuration of the model"
