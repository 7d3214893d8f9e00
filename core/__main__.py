"""`python -m core` is `platoscope`."""

import sys

from core.cli import main

sys.exit(main())
