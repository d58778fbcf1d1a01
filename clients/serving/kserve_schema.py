"""The part of the schema of KServe's serving runtimes that a manifest may use.

Spec: ServingRuntime of serving.kserve.io/v1alpha1; Container and Probe of the core of Kubernetes, v1.
"""

from __future__ import annotations

from typing import Any

INTEGER, BOOLEAN = {"type": "integer"}, {"type": "boolean"}
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|[KMGT]i?)?$"
PROBE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "httpGet": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "port": {"type": "integer"}},
            "required": ["port"],
            "additionalProperties": False,
        },
        **dict.fromkeys(("periodSeconds", "timeoutSeconds", "failureThreshold"), INTEGER),
    },
    "additionalProperties": False,
}
TEXTS = {"type": "array", "items": {"type": "string"}}
RESOURCES = {"type": "object", "additionalProperties": {"type": "string", "pattern": QUANTITY}}
CONTAINER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "image": {"type": "string"},
        "command": TEXTS,
        "args": TEXTS,
        "env": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "ports": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "containerPort": {"type": "integer"},
                    "protocol": {"enum": ["TCP", "UDP", "SCTP"]},
                    "name": {"type": "string"},
                },
                "required": ["containerPort"],
                "additionalProperties": False,
            },
        },
        "readinessProbe": PROBE,
        "livenessProbe": PROBE,
        "securityContext": {
            "type": "object",
            "properties": {
                **dict.fromkeys(
                    ("allowPrivilegeEscalation", "privileged", "runAsNonRoot", "readOnlyRootFilesystem"),
                    BOOLEAN,
                ),
                "capabilities": {
                    "type": "object",
                    "properties": {"drop": TEXTS},
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
        "resources": {
            "type": "object",
            "properties": {"requests": RESOURCES, "limits": RESOURCES},
            "additionalProperties": False,
        },
    },
    "required": ["name"],
    "additionalProperties": False,
}
SERVING_RUNTIME: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"const": "serving.kserve.io/v1alpha1"},
        "kind": {"enum": ["ServingRuntime", "ClusterServingRuntime"]},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "type": "object",
            "properties": {
                "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                "supportedModelFormats": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "version": {"type": "string"},
                            "autoSelect": {"type": "boolean"},
                            "priority": {"type": "integer", "minimum": 1},
                        },
                        "required": ["name"],
                        "additionalProperties": False,
                    },
                },
                "protocolVersions": {"type": "array", "items": {"enum": ["v1", "v2", "grpc-v1", "grpc-v2"]}},
                "multiModel": {"type": "boolean"},
                "containers": {"type": "array", "items": CONTAINER, "minItems": 1},
            },
            "required": ["containers"],
            "additionalProperties": False,
        },
    },
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
}
