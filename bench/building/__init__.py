"""The same five models, and the same twelve mistakes, in four libraries that build models."""
