"""`python -m asio_infer` is the command `asio-infer`."""

import sys

from asio_infer.cli import main

if __name__ == "__main__":
    sys.exit(main())
