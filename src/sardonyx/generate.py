"""Language models: `Generator` continues prompts, with the settings that `Settings` explains, `BatchingGenerator` those of many
callers together; `Embedder` has vectors of texts."""

from sardonyx._src.generate.batching.batching_generator import BatchingGenerator as BatchingGenerator
from sardonyx._src.generate.batching.stats import BatchingStats as BatchingStats
from sardonyx._src.generate.choice.settings import Settings as Settings
from sardonyx._src.generate.embedder import Embedder as Embedder
from sardonyx._src.generate.generator import Generator as Generator
from sardonyx._src.generate.prefix_files import load_prefix as load_prefix
from sardonyx._src.generate.prefix_files import save_prefix as save_prefix
from sardonyx._src.generate.results import Generation as Generation
from sardonyx._src.generate.results import Piece as Piece
from sardonyx._src.generate.results import Result as Result
from sardonyx._src.generate.results import TokenLogprob as TokenLogprob
from sardonyx._src.generate.text.tokenizer import Tokenizer as Tokenizer

__all__ = [
    "BatchingGenerator",
    "BatchingStats",
    "Embedder",
    "Generation",
    "Generator",
    "Piece",
    "Result",
    "Settings",
    "TokenLogprob",
    "Tokenizer",
    "load_prefix",
    "save_prefix",
]
