"""`python -m sardonyx` is the command line."""

from sardonyx.cli.main import entry

if __name__ == "__main__":
    entry()
