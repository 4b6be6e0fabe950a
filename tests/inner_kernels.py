"""Kernels that only kernels call, to be called by tests."""

import numba

from sparseauc.solvers.exchange import groups, moves, state, sweeps

TILE = sweeps.TILE


@numba.njit
def exchange(s, position, unit):
    sweeps.exchange(state.Reference(*s), None, position, unit)


@numba.njit
def move_to(s, units):
    sweeps.move_to(state.Reference(*s), None, units)


@numba.njit
def refactorise(s):
    sweeps.refactorise(state.Reference(*s))


@numba.njit
def explained(s):
    return state.explained(state.Reference(*s))


@numba.njit
def join_gains(s):
    return groups.join_gains(state.Reference(*s))


@numba.njit
def best_join(s):
    return moves.best_join(state.Reference(*s), None)


@numba.njit
def best_leave(s):
    return moves.best_leave(state.Reference(*s), None)


@numba.njit
def look(s, least):
    return moves.look(state.Reference(*s), None, least)
