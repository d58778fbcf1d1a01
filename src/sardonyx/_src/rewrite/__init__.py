"""Model optimization: a rewriting engine and its passes."""
