"""Parameters that moved: an error that says where to."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def moved_parameters(**where: str) -> Callable[[F], F]:
    """Decorate a function or class so that an old parameter is refused, with the new way to say it.

    Parameters
    ----------
    **where
        What to write instead of each old parameter.
    """

    def decorate(function: F) -> F:
        if isinstance(function, type):
            function.__init__ = decorate(function.__init__)  # type: ignore[misc]
            return function

        @functools.wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            for name in [one for one in options if one in where]:
                raise TypeError(
                    f"the parameter {name} of version 0.2 moved: write {where[name]} instead"
                )
            return function(*arguments, **options)

        return cast(F, checked)

    return decorate
