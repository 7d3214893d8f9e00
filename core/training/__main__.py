"""`python -m core.training NAME …` is `platoscope train NAME …`."""

import sys

from core.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
