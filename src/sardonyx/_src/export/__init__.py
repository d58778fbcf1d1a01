"""Libraries for C: a compiled program as a header and code that needs no other library (docs/architecture/export.md)."""
