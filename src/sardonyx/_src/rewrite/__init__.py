"""Model optimisation: a rewriting engine and its passes."""
