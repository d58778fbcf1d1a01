"""Vectors of texts: pooling, lengths and contexts are those of the folder, and no text depends on others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import EMBEDDING, encoder
from generate.folders import word_tokenizer, write_folder
from sardonyx._src.ir import Array
from sardonyx.generate import Embedder

TEXTS = ["w1 w2", "w3", "w4 w5 w6", "w6 w1", "w2"]
TOKENS = [[1, 2], [3], [4, 5, 6], [6, 1], [2]]


def token_vectors(tokens: list[int]) -> Array:
    return EMBEDDING[tokens] * np.arange(1, len(tokens) + 1, dtype=np.float32)[:, None]


def write_encoder(folder: Path, files: Mapping[str, object] | None = None, *, pools: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    sx.save(encoder(pools=pools), folder / "model.onnx")
    word_tokenizer().save(str(folder / "tokenizer.json"))
    for name, content in (files or {}).items():
        path = folder / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    return folder


POOLED = {
    "mean": lambda v: v.mean(0),
    "max": lambda v: v.max(0),
    "first": lambda v: v[0],
    "last": lambda v: v[-1],
}


@pytest.mark.parametrize("pooling", POOLED)
def test_vectors_of_tokens_are_pooled(tmp_path: Path, pooling: str) -> None:
    embedder = Embedder(write_encoder(tmp_path), pooling=pooling)  # type: ignore[arg-type]
    expected = np.stack([POOLED[pooling](token_vectors(tokens)) for tokens in TOKENS])
    np.testing.assert_allclose(embedder.embed(TEXTS), expected, rtol=1e-6)
    np.testing.assert_allclose(embedder.embed(TEXTS[2]), expected[2], rtol=1e-6)


def test_a_folder_of_sentence_transformers(tmp_path: Path) -> None:
    modules = [
        {"type": "sentence_transformers.models.Pooling"},
        {"type": "sentence_transformers.models.Normalize"},
    ]
    config = {
        "word_embedding_dimension": 4,
        "pooling_mode_cls_token": True,
        "pooling_mode_mean_tokens": False,
    }
    files: dict[str, object] = {
        "modules": modules,
        "1_Pooling/config": config,
        "sentence_bert_config": {"max_seq_length": 2},
    }
    embedder = Embedder(write_encoder(tmp_path, files))
    assert (embedder.pooling, embedder.normalize, embedder.context) == ("first", True, 2)
    vectors = embedder.embed(["w1 w2", "w3"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(vectors[0], EMBEDDING[1] / np.linalg.norm(EMBEDDING[1]), rtol=1e-5)
    with pytest.raises(
        sx.InputError, match="at most 2 tokens, the context of the model; got 3: shorten it, or cut it by"
    ):
        embedder.embed(TEXTS)
    cut = embedder.embed(TEXTS, truncate=True)
    np.testing.assert_array_equal(cut[2], embedder.embed("w4 w5"))


def test_a_model_that_pools_itself(tmp_path: Path) -> None:
    vectors = Embedder(write_encoder(tmp_path, pools=True)).embed(TEXTS)
    np.testing.assert_allclose(vectors, [token_vectors(tokens).max(0) for tokens in TOKENS], rtol=1e-6)


def test_no_vector_depends_on_other_texts(tmp_path: Path) -> None:
    embedder = Embedder(write_encoder(tmp_path))
    together = embedder.embed(TEXTS * 20)
    alone = np.stack([embedder.embed(text) for text in TEXTS])
    np.testing.assert_array_equal(together, np.tile(alone, (20, 1)))
    assert embedder.embed([]).shape == (0, 0)


def test_texts_may_be_tokens(tmp_path: Path) -> None:
    embedder = Embedder(write_folder(tmp_path, encoder()))
    assert embedder.encode("w1 w2") == [1, 2]
    np.testing.assert_array_equal(embedder.embed_tokens([[1, 2], [3]]), embedder.embed(["w1 w2", "w3"]))


def test_folders_and_models_that_are_no_encoders(tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match="the path of a model must exist"):
        Embedder(tmp_path / "none")
    with pytest.raises(sx.InputError, match=r"must have an encoder, as model\.onnx"):
        Embedder(tmp_path)
    folder = write_encoder(tmp_path, {"1_Pooling/config": {"pooling_mode_weightedmean_tokens": True}})
    with pytest.raises(sx.InputError, match=r"must choose one of .* got pooling_mode_weightedmean_tokens"):
        Embedder(folder)
    (folder / "1_Pooling" / "config.json").unlink()
    with pytest.raises(sx.InputError, match="a text must have at least one token"):
        Embedder(folder).embed("")
    (folder / "modules.json").write_text('{"type": 1}')
    with pytest.raises(sx.InputError, match="must be a JSON list of modules"):
        Embedder(folder)
    (folder / "modules.json").unlink()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(
        sx.InputError, match=r"requires a tokenizer: .* has no tokenizer\.json; give its path"
    ):
        Embedder(folder)
