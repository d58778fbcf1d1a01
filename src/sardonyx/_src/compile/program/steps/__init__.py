"""Steps, the programs that consist of them, and what holds in each run of a program."""
