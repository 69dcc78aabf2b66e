"""`python -m l2e` is the command line."""

from l2e.cli.commands import main

main()
