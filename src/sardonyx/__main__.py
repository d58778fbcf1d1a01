"""`python -m sardonyx` is the command line."""

from sardonyx._src.cli.main import entry

if __name__ == "__main__":
    entry()
