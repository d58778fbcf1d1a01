"""Dynamic batching: requests are joined to one run, if the model computes each row of a batch independently of the others.

`row_independence.py` proves that for a model, with a rule for each operator (`row_rules`).  `joining.py` concatenates feeds and
splits results.
"""
