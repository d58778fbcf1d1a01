"""Upward conversions to the newest opset, and calls of bodies, that may be refused, with a part of the reason."""

from __future__ import annotations

# Conversions, by operator and version.
REFUSALS: dict[tuple[str, int], str] = {
    ("Split", 1): "the lengths must be constant",  # versions 2 to 11 have no such input
    ("Resize", 11): "to replace tf_half_pixel_for_nn",
    ("Resize", 13): "to replace tf_half_pixel_for_nn",
    ("Scan", 8): "the target version has no sequence_lens",
    ("LabelEncoder", 2): "zeros and NaN are compared by their bits",
}

# Calls without a body, though their operator has one for others: by operator, parts of the reasons.
FEATURES = "the number of features must be known"
POST_TRANSFORM = "a body is known for LOGISTIC, NONE, SOFTMAX, SOFTMAX_ZERO only; got 'PROBIT'"
BODY_REFUSALS: dict[str, tuple[str, ...]] = {
    "FeatureVectorizer": (FEATURES,),
    "Imputer": (FEATURES,),
    "LabelEncoder": (
        "a body is known for numbers only",
        "a body is known for keys that are whole numbers only",
    ),
    "LinearClassifier": (FEATURES, POST_TRANSFORM),
    "LinearRegressor": (FEATURES, POST_TRANSFORM),
    "Normalizer": (FEATURES,),
    "OneHotEncoder": ("a body is known for zeros=1 only",),
    "SVMClassifier": (FEATURES, "a body is known without probabilities only"),
    "SVMRegressor": (FEATURES, POST_TRANSFORM),
    "Scaler": (FEATURES,),
}
