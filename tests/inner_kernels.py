"""Kernels that only kernels call, to be called by tests, and kept as those of the library are."""

from sparseauc.solvers.exchange import moves, state, sweeps
from sparseauc.solvers.exchange.state import Reference
from sparseauc.utils.jit import kernel

TILE = sweeps.TILE
# By names of their own, as the name of a file of a kernel says what it is compiled
# from.
_exchange = sweeps.exchange
_move_to = sweeps.move_to
_refactorise = sweeps.refactorise
_explained = state.explained
_look = moves.look
_cheapest = moves.cheapest


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
def look(s, least, joins):
    return _look(Reference(*s), None, least, joins)


@kernel
def cheapest(s, losses):
    return _cheapest(Reference(*s), losses)
