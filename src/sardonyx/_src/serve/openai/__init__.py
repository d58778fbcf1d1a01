"""OpenAI's interface for language models: chat completions, completions, embeddings and models, beside the inference protocol."""
