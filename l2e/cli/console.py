"""What all commands share: how they print, and checks of numbers."""

from rich.console import Console
from rich.text import Text


def plain_console() -> Console:
    """A console that prints text as it is: names and messages may hold square brackets."""
    return Console(markup=False, highlight=False)


def say_error(error: BaseException) -> None:
    """One line on standard error."""
    console = Console(stderr=True, markup=False, highlight=False)
    console.print(Text.assemble(("error: ", "red"), str(error) or type(error).__name__), soft_wrap=True)


def at_least_one(**numbers: int) -> None:
    """Refuse numbers below 1, by name."""
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
