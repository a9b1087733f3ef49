"""`python -m unspool` is the command `unspool`."""

from unspool.cli import main

main()
