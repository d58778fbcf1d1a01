"""Dynamic batching: which models compute the rows of a batch independently, and requests joined to one run.

`row_independence.py` proves it of a model, by a rule for each operator (`row_rules`); `joining.py` concatenates feeds and splits results.
"""
