"""Small transformers of random weights with a tokenizer of whole words, exported by Optimum."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TypeVar

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import torch
from optimum.exporters.onnx import onnx_export_from_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from programs.stand_ins import FOLDER

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"a the of is and model runs small network well".split()]
TEXTS = ["a small model runs", "the network of a model is small and runs well", "nothing here is known"]
Network = TypeVar("Network", bound=torch.nn.Module)
VOCABULARY = 32  # with tokens that no word has
SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
BERT = BertConfig(**SIZES, intermediate_size=64, max_position_embeddings=64, num_labels=3)
MODELS = {
    "llama": (
        LlamaForCausalLM,
        LlamaConfig(**SIZES, **SPECIAL, intermediate_size=64, num_key_value_heads=2),
        "text-generation-with-past",
    ),
    "gpt2": (
        GPT2LMHeadModel,
        GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64, **SPECIAL),
        "text-generation-with-past",
    ),
    "t5": (
        T5ForConditionalGeneration,
        T5Config(
            vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
            decoder_start_token_id=0, pad_token_id=0, eos_token_id=2,
        ),
        "text2text-generation-with-past",
    ),
    "classifier": (BertForSequenceClassification, BERT, "text-classification"),
}  # fmt: skip


def make_model(kind: type[PreTrainedModel], config: object) -> PreTrainedModel:
    """A network of random weights."""
    torch.manual_seed(0)
    return spread_weights(kind(config).eval())


def spread_weights(model: Network, factor: float = 8) -> Network:
    """The network with matrices so far from zero that its answers differ from token to token."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(factor)
    return model


def exported(name: str) -> Path:
    """The folder of an exported network; the first process that asks exports it."""
    folder = FOLDER / "transformers" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        kind, config, task = MODELS[name]
        with tempfile.TemporaryDirectory(dir=folder.parent) as part:
            onnx_export_from_model(make_model(kind, config), f"{part}/{name}", task=task, do_validation=False)
            Path(part, name).rename(folder)
    return folder


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special)


def save_bert(folder: Path) -> None:
    """A network without a head, and its tokenizer."""
    make_model(BertModel, BERT).save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
