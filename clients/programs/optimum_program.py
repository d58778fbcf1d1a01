"""optimum-onnx: texts that transformers generate and classify, with tensors of torch, bindings and arrays, and in pipelines."""

from __future__ import annotations

import torch
from optimum.onnxruntime import (
    ORTModelForCausalLM,
    ORTModelForSeq2SeqLM,
    ORTModelForSequenceClassification,
)
from transformers import pipeline

from programs.transformers_models import TEXTS, exported, make_tokenizer

TOKENS = torch.tensor([[5, 9, 17, 4, 11], [8, 3, 3, 30, 12]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])


def run() -> dict[str, object]:
    return {
        f"{'bound' if is_bound else 'fed'} {name}": answer
        for is_bound in (False, True)
        for name, answer in run_models(is_bound).items()
    }


def run_models(is_bound: bool) -> dict[str, object]:
    answers: dict[str, object] = {}
    for name in ("llama", "gpt2"):
        model = ORTModelForCausalLM.from_pretrained(exported(name), use_io_binding=is_bound)
        answers[name] = generate(model)
        answers[f"{name} logits"] = logits(model)
    answers["t5"] = generate(ORTModelForSeq2SeqLM.from_pretrained(exported("t5"), use_io_binding=is_bound))
    classifier = ORTModelForSequenceClassification.from_pretrained(
        exported("classifier"), use_io_binding=is_bound
    )
    answers["classifier"] = logits(classifier)
    if not is_bound:
        arrays = {"input_ids": TOKENS.numpy(), "attention_mask": MASK.numpy()}
        answers["classifier of arrays"] = classifier(
            **arrays, token_type_ids=arrays["input_ids"] * 0
        ).logits.tolist()
    pipe = pipeline("text-classification", model=classifier, tokenizer=make_tokenizer(), top_k=None)
    answers["pipeline"] = [sorted((s["label"], s["score"]) for s in scores) for scores in pipe(TEXTS)]
    return answers


def generate(model: ORTModelForCausalLM | ORTModelForSeq2SeqLM) -> dict[str, list[list[int]]]:
    """The tokens of a greedy search and of one with beams."""
    options = {"attention_mask": MASK, "max_new_tokens": 12, "do_sample": False, "suppress_tokens": [0, 2]}
    return {f"{n} beams": model.generate(TOKENS, num_beams=n, **options).tolist() for n in (1, 3)}


def logits(model: ORTModelForCausalLM | ORTModelForSequenceClassification) -> list[object]:
    feeds = {"input_ids": TOKENS, "attention_mask": MASK}
    if "token_type_ids" in model.input_names:
        feeds["token_type_ids"] = torch.zeros_like(TOKENS)
    if "position_ids" in model.input_names:
        feeds["position_ids"] = (MASK.cumsum(-1) - 1).clamp(0)
    found: list[object] = model(**feeds).logits.tolist()
    return found
