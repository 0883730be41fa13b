"""`python -m peephole` is `peephole`."""

import sys

from peephole.cli.main import main

sys.exit(main())
