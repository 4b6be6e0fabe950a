"""Errors of the library: input that it cannot use.

All are ``ValueError``, as scikit-learn's conventions ask. Whoever calls a fit catches
them by name: any other error is a mistake in the code, and keeps its traceback.
"""


class InputError(ValueError):
    """Rows, limits or settings that cannot be used; the message names them and the way out."""


class FoldsError(InputError):
    """Rows that cannot be divided into folds as asked: one would be left with nothing to rank."""


class ExchangeError(InputError):
    """A list of which no single column can be exchanged: empty, or of groups."""
