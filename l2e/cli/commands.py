"""The command line: all commands, and how their errors are said."""

import os
import sys
from typing import Annotated

import tyro

from l2e._version import __version__
from l2e.cli.bench import bench, export, report
from l2e.cli.console import say_error
from l2e.cli.learn import learn
from l2e.cli.search import minimize
from l2e.cli.show import methods, models, problems, show
from l2e.cli.studies import ablate, demo, diagnose, score
from l2e.cli.train import train
from l2e.cli.watch import watch
from l2e.core.errors import MissingExtraError
from l2e.core.stops import ObjectiveError

JAX = ("jax", "jaxlib", "equinox", "optax", "jaxtyping")
"""Modules that the extra `jax` brings."""

COMMANDS = {
    "minimize": minimize,
    "show": show,
    "watch": watch,
    "methods": methods,
    "problems": problems,
    "models": models,
    "learn": learn,
    "train": train,
    "diagnose": diagnose,
    "bench": bench,
    "report": report,
    "export": export,
    "score": score,
    "ablate": ablate,
    "demo": demo,
}


def main(arguments: Annotated[list[str] | None, "for tests"] = None) -> None:
    """Run the command line; known errors are one line on stderr and exit code 2."""
    if (sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        print(f"l2e {__version__}")
        sys.exit(0)
    try:
        code = tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="l2e",
            description="Learned evolutionary optimization: minimise black-box functions, compare methods.",
            args=arguments,
        )
    except (ValueError, TypeError, MissingExtraError, OSError) as error:
        say_error(error)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in JAX:
            raise
        say_error(MissingExtraError(f"this needs {error.name!r}, which is not installed: pip install 'l2e[jax]'"))
        sys.exit(2)
    except ObjectiveError as error:
        say_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        code = 130
    if code == 130:  # at once: interrupted compilations make JAX crash when Python cleans up
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)
