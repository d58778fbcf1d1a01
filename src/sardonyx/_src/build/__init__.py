"""The builder: models written in Python, checked and typed call by call."""
