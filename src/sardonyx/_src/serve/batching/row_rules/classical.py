"""Operators of classical machine learning (ai.onnx.ml), for which the rows of a matrix are samples."""

from __future__ import annotations

from sardonyx._src.serve.batching.row_step import MIXED, RowAxis, RowStep, row_rule

ML = "ai.onnx.ml"


@row_rule(
    *"LinearClassifier LinearRegressor SVMClassifier SVMRegressor TreeEnsemble TreeEnsembleClassifier".split(),
    *"TreeEnsembleRegressor Normalizer".split(),
    domain=ML,
)
def matrix_rows(step: RowStep) -> RowAxis:
    return 0 if step.batched(0) == 0 and step.rank(0) == 2 and step.are_others_constant(0) else MIXED


@row_rule("Scaler", "Imputer", domain=ML)
def columns(step: RowStep) -> RowAxis:
    """These operators have separate parameters for each entry of the last axis, which must not be the batch axis."""
    batch, rank = step.batched(0), step.rank(0)
    return MIXED if batch is None or rank is None or batch == rank - 1 else batch


@row_rule("LabelEncoder", "CategoryMapper", "OneHotEncoder", domain=ML)
def element_lookup(step: RowStep) -> RowAxis:
    """Each element is mapped by itself; OneHotEncoder adds the classes as a new last axis."""
    return step.axis(0)


@row_rule("ArrayFeatureExtractor", domain=ML)
def column_selection(step: RowStep) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None or rank < 2 or batch == rank - 1 or not step.is_constant(1):
        return MIXED
    return batch


@row_rule("FeatureVectorizer", domain=ML)
def column_concatenation(step: RowStep) -> RowAxis:
    is_batched = all(step.batched(i) == 0 and step.rank(i) == 2 for i in range(len(step.node.inputs)))
    return 0 if is_batched else MIXED


@row_rule("TfIdfVectorizer")
def term_counts(step: RowStep) -> RowAxis:
    return 0 if step.batched(0) == 0 and step.rank(0) == 2 else MIXED
