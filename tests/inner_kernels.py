"""Kernels that only kernels call, to be called by tests, and kept as those of the library are."""

from sparseauc.solvers.exchange import groups, moves, state, sweeps
from sparseauc.solvers.exchange.state import Reference
from sparseauc.utils.jit import kernel

TILE = sweeps.TILE
# By names of their own, as the name of a file of a kernel says what it is compiled
# from.
_exchange = sweeps.exchange
_move_to = sweeps.move_to
_refactorise = sweeps.refactorise
_explained = state.explained
_join_gains = groups.join_gains
_best_join = moves.best_join
_best_leave = moves.best_leave
_look = moves.look


@kernel
def exchange(s, position, unit):
    _exchange(Reference(*s), None, position, unit)


@kernel
def move_to(s, units):
    _move_to(Reference(*s), None, units)


@kernel
def refactorise(s):
    _refactorise(Reference(*s))


@kernel
def explained(s):
    return _explained(Reference(*s))


@kernel
def join_gains(s):
    return _join_gains(Reference(*s))


@kernel
def best_join(s):
    return _best_join(Reference(*s), None)


@kernel
def best_leave(s):
    return _best_leave(Reference(*s), None)


@kernel
def look(s, least):
    return _look(Reference(*s), None, least)
