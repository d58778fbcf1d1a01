"""The builder: constructs models in Python; each call is checked and its results are typed at once."""
