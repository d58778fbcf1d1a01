"""Attributes whose string values come from a closed list (Operators.md, Operators-ml.md), by operator and version."""

from __future__ import annotations

from collections.abc import Mapping

Since = tuple[
    tuple[int, frozenset[str]], ...
]  # (version of the operator, values from there on), newest first


def since(*lists: tuple[int, str]) -> Since:
    return tuple(sorted(((version, frozenset(words.split())) for version, words in lists), reverse=True))


def every(words: str) -> Since:
    return since((1, words))


PADDING = every("NOTSET SAME_UPPER SAME_LOWER VALID")
DIRECTION = every("forward reverse bidirectional")
ACTIVATIONS = every(
    "Relu Tanh Sigmoid Affine LeakyRelu ThresholdedRelu ScaledTanh HardSigmoid Elu Softsign Softplus"
)
LOSS = every("none sum mean")
SCATTERED = since((16, "none add mul"), (18, "none add mul max min"))
BLOCKS = every("DCR CRD")
ROUNDING = every("up down nearest")
TRANSFORM = every("NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT")
KERNEL = every("LINEAR POLY RBF SIGMOID")
BRANCHING = every("BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ LEAF")
COORDINATES = "half_pixel pytorch_half_pixel align_corners asymmetric tf_crop_and_resize"

LISTED: Mapping[tuple[str, str], Mapping[str, Since]] = {
    **{
        ("", name): {"auto_pad": PADDING}
        for name in "AveragePool Conv ConvInteger ConvTranspose LpPool MaxPool QLinearConv".split()
    },
    **{("", name): {"direction": DIRECTION, "activations": ACTIVATIONS} for name in ("GRU", "LSTM", "RNN")},
    **{("", name): {"reduction": LOSS} for name in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    **{("", name): {"reduction": SCATTERED} for name in ("ScatterElements", "ScatterND")},
    **{("", name): {"mode": BLOCKS} for name in ("DepthToSpace", "SpaceToDepth")},
    **{("", name): {"round_mode": ROUNDING} for name in ("Cast", "CastLike")},
    ("", "BitShift"): {"direction": every("LEFT RIGHT")},
    ("", "CausalConvWithState"): {"activation": every("silu swish none")},
    ("", "Gelu"): {"approximate": every("none tanh")},
    ("", "GridSample"): {
        "mode": since((16, "bilinear nearest bicubic"), (20, "linear nearest cubic")),
        "padding_mode": every("zeros border reflection"),
    },
    ("", "ImageDecoder"): {"pixel_format": every("RGB BGR Grayscale")},
    ("", "LinearAttention"): {"update_rule": every("linear gated delta gated_delta")},
    ("", "Pad"): {"mode": since((1, "constant reflect edge"), (19, "constant reflect edge wrap"))},
    ("", "Resize"): {
        "coordinate_transformation_mode": since(
            (11, f"{COORDINATES} tf_half_pixel_for_nn"),
            (13, f"{COORDINATES} tf_half_pixel_for_nn"),
            (18, COORDINATES),
            (19, f"{COORDINATES} half_pixel_symmetric"),
        ),
        "keep_aspect_ratio_policy": every("stretch not_larger not_smaller"),
        "mode": since((10, "nearest linear"), (11, "nearest linear cubic")),
        "nearest_mode": every("round_prefer_floor round_prefer_ceil floor ceil"),
    },
    ("", "RoiAlign"): {
        "coordinate_transformation_mode": every("half_pixel output_half_pixel"),
        "mode": every("avg max"),
    },
    ("", "StringNormalizer"): {"case_change_action": every("LOWER UPPER NONE")},
    ("", "TensorScatter"): {"mode": every("linear circular")},
    ("", "TfIdfVectorizer"): {"mode": every("TF IDF TFIDF")},
    ("", "Upsample"): {"mode": since((1, "nearest bilinear"), (7, "nearest linear"))},
    ("ai.onnx.ml", "CastMap"): {
        "cast_to": every("TO_FLOAT TO_STRING TO_INT64"),
        "map_form": every("DENSE SPARSE"),
    },
    ("ai.onnx.ml", "LinearClassifier"): {"post_transform": TRANSFORM},
    ("ai.onnx.ml", "LinearRegressor"): {"post_transform": TRANSFORM},
    ("ai.onnx.ml", "Normalizer"): {"norm": every("MAX L1 L2")},
    ("ai.onnx.ml", "SVMClassifier"): {"kernel_type": KERNEL, "post_transform": TRANSFORM},
    ("ai.onnx.ml", "SVMRegressor"): {"kernel_type": KERNEL, "post_transform": TRANSFORM},
    ("ai.onnx.ml", "TreeEnsembleClassifier"): {"nodes_modes": BRANCHING, "post_transform": TRANSFORM},
    ("ai.onnx.ml", "TreeEnsembleRegressor"): {
        "aggregate_function": every("AVERAGE SUM MIN MAX"),
        "nodes_modes": BRANCHING,
        "post_transform": TRANSFORM,
    },
    ("ai.onnx.preview.training", "Momentum"): {"mode": every("nesterov standard")},
}
UNCASED = frozenset(("activations",))  # of which readers take any case, and exporters write it


def values_of(domain: str, op_type: str, version: int, attribute: str) -> frozenset[str] | None:
    """The values that this version of an operator takes for an attribute; None where there is no list."""
    lists = LISTED.get((domain, op_type), {}).get(attribute, ())
    return next((values for first, values in lists if first <= version), None)


def is_listed(attribute: str, value: str, values: frozenset[str]) -> bool:
    if attribute in UNCASED:
        return value.lower() in {one.lower() for one in values}
    return value in values
