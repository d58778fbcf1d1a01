"""Environment variables that loading reads."""

OPERATOR_SETS_VARIABLE = "SARDONYX_OPERATOR_SETS"  # folders with operator-set documents, as in PATH
