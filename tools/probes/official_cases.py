"""Cases of rare operators: official ones, with their data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import sardonyx as sx
from probes.case_builder import KernelCase
from replay_corpus import node_cases

# Names without "test_"; constants: all inputs but the first are constants.
NAMES = """
ai_onnx_ml_tree_ensemble_set_membership
ai_onnx_ml_tree_ensemble_single_tree
basic_deform_conv_with_padding (constants)
col2im_pads (constants)
col2im_strides (constants)
convtranspose_pads
cumprod_1d_reverse_exclusive (constants)
hardmax_one_hot
linear_attention_linear
maxunpool_export_without_output_shape (constants)
roialign_aligned_true (constants)
rotary_embedding_3d_input
rotary_embedding_with_interleaved_rotary_dim
stft (constants)
tensorscatter_3d (constants)
tensorscatter_circular (constants)
tfidfvectorizer_tf_onlybigrams_levelempty
""".split("\n")[1:-1]
TOLERANCE = 1e-4


def cases() -> Iterator[KernelCase]:
    names = set(NAMES)
    for case in node_cases():
        name = case.name.removeprefix("node/test_")
        if name in names:
            names.remove(name)
            feeds = {key: np.asarray(value) for key, value in (case.feeds() or {}).items()}
            yield KernelCase(name, sx.load(case.model), feeds, TOLERANCE)
    assert not names, f"official cases must exist: {names}"
