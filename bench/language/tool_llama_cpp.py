"""llama.cpp, prebuilt in the npm package @node-llama-cpp/linux-x64, through ctypes; `libraries` is the folder of its files."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

INT, POINTER = ctypes.c_int32, ctypes.c_void_p
DEFAULT_SIZES = (
    512,
    2048,
    512,
    1,
)  # n_ctx, n_batch, n_ubatch, n_seq_max: where the parameters of a context begin


# Kept alive, since the library calls it.
SILENT_LOG = ctypes.CFUNCTYPE(None, INT, ctypes.c_char_p, POINTER)(lambda *_: None)


class Settings(ctypes.Structure):
    """Parameters of a model or a context, which are passed by value: at least as large as they are."""

    _fields_ = (("words", ctypes.c_uint32 * 256),)


class Batch(ctypes.Structure):
    _fields_ = (
        ("n_tokens", INT),
        *((name, POINTER) for name in ("token", "embd", "pos", "n_seq_id", "seq_id", "logits")),
    )


def load_library(folder: Path) -> ctypes.CDLL:
    ctypes.CDLL(str(folder / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
    ggml = ctypes.CDLL(str(next(folder.glob("libggml.v*.so"))), mode=ctypes.RTLD_GLOBAL)
    llama = ctypes.CDLL(str(next(folder.glob("libllama.v*.so"))), mode=ctypes.RTLD_GLOBAL)
    ggml.ggml_backend_load_all_from_path.argtypes = [ctypes.c_char_p]
    ggml.ggml_backend_load_all_from_path(str(folder).encode())
    llama.llama_log_set(SILENT_LOG, None)
    for name, result, arguments in (
        ("model_default_params", Settings, []),
        ("model_load_from_file", POINTER, [ctypes.c_char_p, Settings]),
        ("context_default_params", Settings, []),
        ("init_from_model", POINTER, [POINTER, Settings]),
        ("model_get_vocab", POINTER, [POINTER]),
        ("vocab_n_tokens", INT, [POINTER]),
        ("get_memory", POINTER, [POINTER]),
        ("memory_clear", None, [POINTER, ctypes.c_bool]),
        ("batch_get_one", Batch, [POINTER, INT]),
        ("decode", INT, [POINTER, Batch]),
        ("get_logits_ith", ctypes.POINTER(ctypes.c_float), [POINTER, INT]),
        ("set_n_threads", None, [POINTER, INT, INT]),
    ):
        function = getattr(llama, f"llama_{name}")
        function.restype, function.argtypes = result, arguments
    llama.llama_backend_init()
    return llama


def open_model(facts: dict[str, Any]) -> Callable[[list[int], int], Iterator[int]]:
    llama = load_library(Path(facts["libraries"]))
    model = llama.llama_model_load_from_file(facts["path"].encode(), llama.llama_model_default_params())
    assert model, f"llama.cpp cannot load {facts['path']}"
    settings = llama.llama_context_default_params()
    assert tuple(settings.words[:4]) == DEFAULT_SIZES, "the parameters of contexts have changed"
    settings.words[0] = facts["context"]
    context = llama.llama_init_from_model(model, settings)
    llama.llama_set_n_threads(context, facts["threads"], facts["threads"])
    vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))

    def read(tokens: list[int]) -> int:
        """The most probable token after these; the library reads at most 2,048 in one call."""
        for first in range(0, len(tokens), DEFAULT_SIZES[1]):
            part = tokens[first : first + DEFAULT_SIZES[1]]
            array = (INT * len(part))(*part)
            status = llama.llama_decode(context, llama.llama_batch_get_one(array, len(part)))
            assert status == 0, f"llama_decode returned {status}"
        logits = llama.llama_get_logits_ith(context, -1)
        return int(np.ctypeslib.as_array(logits, (vocabulary,)).argmax())

    def run(prompt: list[int], tokens: int) -> Iterator[int]:
        llama.llama_memory_clear(llama.llama_get_memory(context), True)
        token = read(prompt)
        yield token
        for _ in range(tokens - 1):
            token = read([token])
            yield token

    return run
