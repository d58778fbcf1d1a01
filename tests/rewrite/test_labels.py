"""move-encoders-to-labels and reshape-before-labels."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from rewrite.rewriting import assert_becomes, assert_unchanged

ENCODE, RESHAPE = "move-encoders-to-labels", "reshape-before-labels"
ML = '"ai.onnx.ml": 4'
LABELS = 'string[2] w = {"a", "b"}'
ENCODER = 'ai.onnx.ml.LabelEncoder<keys_strings = ["b"], values_int64s = [5]>'


def test_constant_labels_are_encoded_and_selected_as_numbers() -> None:
    assert_becomes(
        f"g (int64[2] i) => (int64[] y) <{LABELS}> {{ a = Gather(w, i) y = {ENCODER}(a) }}",
        "g (int64[2] i) => (int64[] y) <int64[2] c = {-1, 5}> { y = Gather(c, i) }",
        *(ENCODE, "fold-constants", "remove-dead-code"),
        more=ML,
    )


def test_labels_with_other_uses_stay_beside_the_numbers() -> None:
    assert_becomes(
        f"g (int64[2] i) => (int64[] y, string[] a) <{LABELS}> {{ a = Gather(w, i) y = {ENCODER}(a) }}",
        f"g (int64[2] i) => (int64[] y, string[] a) <{LABELS}> {{ c = {ENCODER}(w) a = Gather(w, i) y = Gather(c, i) }}",
        ENCODE,
        more=ML,
    )


def test_a_row_of_labels_becomes_a_vector() -> None:
    assert_becomes(
        'g (int64[2] i) => (string[] y) <string[1,2] w = {"a", "b"}, int64[1] s = {-1}> { a = Gather<axis = -1>(w, i) y = Reshape(a, s) }',
        f"g (int64[2] i) => (string[] y) <{LABELS}, int64[1] s = {{-1}}> {{ a = Reshape(i, s) y = Gather(w, a) }}",
        RESHAPE,
        "constants-to-initializers",
    )


def test_indices_are_reshaped() -> None:
    assert_becomes(
        f"g (int64[2,1] i) => (string[] y) <{LABELS}, int64[1] s = {{-1}}> {{ a = Gather(w, i) y = Reshape(a, s) }}",
        f"g (int64[2,1] i) => (string[] y) <{LABELS}, int64[1] s = {{-1}}> {{ a = Reshape(i, s) y = Gather(w, a) }}",
        RESHAPE,
    )


@pytest.mark.parametrize(
    "text",
    [
        f"g (string[2] w, int64[2] i) => (int64[] y) {{ a = Gather(w, i) y = {ENCODER}(a) }}",
        "g (int64[2] i) => (int64[] y) <int64[2] w = {1, 2}> { a = Gather(w, i) y = ai.onnx.ml.LabelEncoder<keys_int64s = [1], values_int64s = [5]>(a) }",
        f"g (string[2] x) => (int64[] y) {{ y = {ENCODER}(x) }}",
    ],
)
def test_other_encoders_stay(text: str) -> None:
    assert_unchanged(text, ENCODE, more=ML)


@pytest.mark.parametrize(
    "text",
    [
        f"g (int64[2,1] i) => (string[] y, string[] a) <{LABELS}, int64[1] s = {{-1}}> {{ a = Gather(w, i) y = Reshape(a, s) }}",
        "g (int64[2,1] i) => (float[] y) <float[2] w = {1, 2}, int64[1] s = {-1}> { a = Gather(w, i) y = Reshape(a, s) }",
        'g (int64[2,1] i) => (string[] y) <string[2,2] w = {"a", "b", "c", "d"}, int64[1] s = {-1}> { a = Gather(w, i) y = Reshape(a, s) }',
        'g (int64[2] i) => (string[] y) <string[1,2] w = {"a", "b"}, int64[2] s = {0, -1}> { a = Gather<axis = 1>(w, i) y = Reshape(a, s) }',
    ],
)
def test_other_reshapes_stay(text: str) -> None:
    assert_unchanged(text, RESHAPE)


def test_a_vote_of_classifiers_with_labels_looks_up_one_label() -> None:
    text = """g (float[N,2] x) => (string[N] y) <string[2] w = {"a", "b"}, int64[1] s = {-1}, int64[1] axis = {1}> {
        one, p = ai.onnx.ml.LinearClassifier<classlabels_strings = ["a", "b"], coefficients = [1.0, 0.0, 0.0, 1.0]>(x)
        two, q = ai.onnx.ml.LinearClassifier<classlabels_strings = ["a", "b"], coefficients = [1.0, 2.0, 3.0, 1.0]>(x)
        a = Reshape(one, s)  b = Reshape(two, s)
        c = ai.onnx.ml.OneHotEncoder<cats_strings = ["a", "b"]>(a)  d = ai.onnx.ml.OneHotEncoder<cats_strings = ["a", "b"]>(b)
        votes = Add(c, d)  most = ArgMax<axis = 1>(votes)  label = ai.onnx.ml.ArrayFeatureExtractor(w, most)  y = Reshape(label, s) }"""
    model = parse_model(text, more='"ai.onnx.ml": 1')
    native, reference = sx.Session(model, engine="native"), sx.Session(model, engine="reference")
    assert native.stats.fallback_nodes == 1
    x = np.random.default_rng(3).normal(size=(40, 2)).astype(np.float32)
    assert native.run({"x": x})["y"].tolist() == reference.run({"x": x})["y"].tolist()
