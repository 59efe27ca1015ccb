"""`python -m trellex` is the command line."""

from trellex.cli import app

if __name__ == "__main__":
    app(prog_name="trellex")
