"""fastembed: embeddings of sentences, with a stand-in for the network and a tokenizer of whole words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from programs.stand_ins import FOLDER, save_text_embedding

TEXTS = ["a model runs", "the model of a network is small and runs", "nothing here is known"]
NAME = "stand-in/words"


def run() -> dict[str, object]:
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *"a the of is and model runs small network".split(),
    ]
    folder = FOLDER / "fastembed"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(save_text_embedding(len(words))), folder / "model.onnx")
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64, **special}))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    if NAME not in {model["model"] for model in TextEmbedding.list_supported_models()}:
        TextEmbedding.add_custom_model(
            NAME, PoolingType.MEAN, True, ModelSource(hf="stand-in/words"), 32, model_file="model.onnx"
        )
    embedding = TextEmbedding(NAME, specific_model_path=str(folder), threads=1)
    return {"embeddings": [vector.tolist() for vector in embedding.embed(TEXTS)]}
