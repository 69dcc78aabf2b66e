"""The command line."""

from l2e.cli.commands import main as main
