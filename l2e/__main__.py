"""`python -m l2e` is the command line."""

from l2e.cli import main

main()
