"""``python -m lossnav`` is the command ``lossnav``; torchrun needs this form."""

import sys

from lossnav.cli import main

if __name__ == "__main__":
    sys.exit(main())
