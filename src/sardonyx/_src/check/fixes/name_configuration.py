"""name-configuration: a node's device configuration names the model's only one."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import NodeDeviceConfigurationProto


@fix("SX523")
def name_configuration(fault: Fault) -> str:
    one, model = fault.the(NodeDeviceConfigurationProto), fault.document.model
    names = [configuration.name for configuration in model.configuration] if model is not None else []
    if len(names) != 1 or not names[0]:
        return ""
    one.configuration_id = names[0]
    return f"named {names[0]!r}, the only configuration of the model"
