"""Operators that releases of ONNX withdrew without a later version of the same name.

All of them were experiments of ai.onnx.  The schemas of experiments had no history: release 1.4 dropped ConstantFill,
release 1.5 all that remained (docs/ManagingExperimentalOps.md of ONNX).  The last version of an operator is the
operator-set version of the last release that published it.
"""

from __future__ import annotations

# By name, the version of ai.onnx in the last release that published the operator.
LAST_VERSIONS = {
    "ATen": 9,
    "Affine": 9,
    "ConstantFill": 8,
    "Crop": 9,
    "DynamicSlice": 9,
    "Embedding": 1,
    "FC": 6,
    "GRUUnit": 9,
    "GivenTensorFill": 9,
    "ImageScaler": 9,
    "LoopIndexTensor": 7,
    "ParametricSoftplus": 9,
    "Scale": 9,
    "ScaledTanh": 9,
}


def last_version(domain: str, op_type: str) -> int | None:
    """The last version of the operator set that had a withdrawn operator; None for operators that still exist.

    `domain` is canonical.  There are no signatures of ATen, Embedding, FC and LoopIndexTensor.
    """
    return None if domain else LAST_VERSIONS.get(op_type)
