"""Run the command line from a checkout: ``python cli.py COMMAND ...``."""

from exactlearn.__main__ import main

if __name__ == "__main__":
    main(prog_name="exactlearn")
