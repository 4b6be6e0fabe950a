"""Limits on the list: signs, costs, families, groups, columns that must or must not be chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ._validation import is_missing
from .errors import InputError
from .limits_files import HEADINGS, LISTS, combine, number_or_nan, read_source
from .solvers.restrictions import Restrictions
from .utils.text import did_you_mean, listed
from .utils.types import Array, Indices

__all__ = ["Limits"]

# Number of budgets that cross-validation tries, up to the one given.
_N_BUDGETS = 20
_SIGNS = {"+": 1, "+1": 1, "1": 1, "-": -1, "-1": -1, "−": -1, "−1": -1, "0": 0}
_NONE: Indices = np.empty(0, np.int64)


@dataclass(frozen=True, repr=False)
class Limits:
    """Limits on the columns of a list, besides their number.

    Columns are given by name or by index; names are looked up when X is seen.

    Parameters
    ----------
    signs : dict or array-like of shape (n_features,), optional
        1 or "+" for columns whose coefficient must not be negative, −1 or "-" for those
        whose coefficient must not be positive, 0 for any sign. A dict may leave columns
        out. A column whose sign sets its coefficient to 0 is not on the list, which may
        then be shorter than k. Columns with a sign are no curves, and not of a group.
    costs : dict or array-like of shape (n_features,), optional
        Cost of each column, 0 or more; 1 by default. A dict must name all columns.
    budget : float or array-like of float, optional
        Largest total cost of the list. Cross-validation chooses among several.
    families : dict or array-like of shape (n_features,), optional
        A label for each column, such as the gene of a probe; None or NaN for columns
        without a family. A dict may leave columns out. All columns of a group are of
        the same family.
    max_per_family : int, default=1
        Largest number of columns of a family.
    column_groups : dict or array-like of shape (n_features,), optional
        A label for each column; None or NaN for columns without a group. Columns with
        the same label, such as the levels of one category, are chosen together or not
        at all, paid for once, and count as one column in k.
    always_include : array-like of column names or indices, optional
        Columns that must be on the list. One that cannot have a coefficient, because it
        is constant or its sign sets it to 0, is left out with a warning.
    exclude : array-like of column names or indices, optional
        Columns that must not be on the list; of a group, one keeps all of it out.

    See Also
    --------
    SparseAUCClassifier : Takes limits, as do the other classifiers and functions that choose lists.

    Examples
    --------
    >>> from sparseauc import Limits, SparseAUCClassifier
    >>> from sparseauc.datasets import make_outbreak
    >>> X, y = make_outbreak(n=500, d=20, k=5, mu=1.0, random_state=0)
    >>> limits = Limits(signs={5: "+"}, always_include=[5], costs=range(20), budget=30)
    >>> model = SparseAUCClassifier(k=5, limits=limits).fit(X, y)
    >>> bool(model.coef_[0, 5] > 0), model.cost_ <= 30
    (True, True)
    """

    signs: Any = None
    costs: Any = None
    budget: Any = None
    families: Any = None
    max_per_family: int | None = None
    column_groups: Any = None
    always_include: Any = ()
    exclude: Any = ()

    def __post_init__(self) -> None:
        for name in HEADINGS:
            object.__setattr__(self, name, _plain_values(getattr(self, name), name))
        for name in LISTS:
            object.__setattr__(self, name, _plain_list(getattr(self, name), name))
        object.__setattr__(self, "signs", _read_signs(self.signs))
        object.__setattr__(self, "budget", _read_budget(self.budget))
        _check_costs(self.costs)
        self._check_combinations()

    def _check_combinations(self) -> None:
        """Refuse limits that cannot hold together, whatever the columns are."""
        most = self.max_per_family
        if most is not None:
            if (
                isinstance(most, bool)
                or not isinstance(most, int | np.integer)
                or most < 1
            ):
                raise InputError(
                    f"max_per_family must be a whole number of 1 or more, got {most}"
                )
            if self.families is None:
                raise InputError(
                    f"max_per_family={most} has no effect without families: say with families "
                    "which columns belong together"
                )
        both = [name for name in self.always_include if name in set(self.exclude)]
        if both:
            raise InputError(
                f"column {both[0]!r} is in both always_include and exclude: remove it from one"
            )

    @classmethod
    def read(cls, sources: Iterable[str | Path], **given: Any) -> Self:
        """Read limits from files and texts, and add those given.

        Parameters
        ----------
        sources : iterable of path or str
            TOML files, whose keys are the parameters; CSV files with a column ``name``
            and one or more of ``sign`` (+, - or 0), ``cost``, ``family``,
            ``column_group`` and ``include`` (always, never or nothing), whose other
            columns and empty cells are ignored; and texts such as "budget=40". What is
            in one must not be in another.
        **given
            Parameters of :class:`Limits`. A TOML file may read::

                budget = 100
                always_include = ["age"]

                [costs]
                age = 0
                crp = 12.5

                [signs]
                crp = "+"
        """
        content = {name: value for name, value in given.items() if value is not None}
        known = [one.name for one in fields(cls)]
        for source in map(str, sources):
            content = combine(content, read_source(source, known), source)
        try:
            return cls(**content)
        except InputError as error:
            where = ", ".join(map(str, sources))
            raise InputError(f"{where}: {error}" if where else str(error)) from None

    def given(self) -> dict[str, Any]:
        """Return the limits that are set, by name."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: value
            for name, value in values.items()
            if value is not None and value != ()
        }

    def __repr__(self) -> str:
        return f"Limits({', '.join(f'{name}={value!r}' for name, value in self.given().items())})"

    def as_dict(self, names: Any = None) -> dict[str, Any]:
        """Return what JSON can hold: the limits that are set, by column name.

        Parameters
        ----------
        names : array-like, optional
            Names of all columns, which take the place of indices.
        """

        def named(column: Any) -> str:
            by_index = isinstance(column, int) and names is not None
            return str(names[column] if by_index else column)

        found: dict[str, Any] = {}
        for name, value in self.given().items():
            if name in LISTS:
                value = [named(column) for column in value]
            elif name in HEADINGS:
                value = {
                    named(j): one for j, one in _pairs(value) if not is_missing(one)
                }
            found[name] = list(value) if isinstance(value, tuple) else value
        return found

    def describe(self, names: Any = None) -> list[str]:
        """Return the limits in sentences, for reports; ``names`` are those of all columns."""
        said = []
        if self.always_include:
            said.append(
                f"Included by request: {', '.join(self.as_dict(names)['always_include'])}."
            )
        if self.families is not None:
            most = self.max_per_family or 1
            said.append(
                f"No list has more than {most} column{'' if most == 1 else 's'} of a family."
            )
        if self.signs is not None:
            said.append("The signs of some coefficients were given.")
        if self.column_groups is not None:
            said.append("Columns of a group were chosen together or not at all.")
        return said

    def resolve(self, n_features: int, names: Any = None) -> Restrictions:
        """Bring the limits to the columns of a table, as solvers take them.

        ``names`` are those of its columns, if it has any.
        """
        columns = TableColumns(n_features, names)
        fixed = columns.indices(self.always_include, "always_include")
        excluded = columns.indices(self.exclude, "exclude")
        both = np.intersect1d(fixed, excluded)
        if both.size:
            raise InputError(
                f"{columns.label(int(both[0]))} is in both always_include and exclude"
            )
        if excluded.size == n_features:
            raise InputError("exclude names every column: none is left to choose")
        found = Restrictions(fixed, excluded)
        if self.column_groups is not None:
            groups = columns.numbers(self.column_groups, "column_groups")
            split = fixed[np.isin(groups[fixed], groups[excluded])]
            if split.size:
                label = columns.label(int(split[0]))
                raise InputError(
                    f"{label} is in always_include, and another column of its group in exclude: "
                    "a group is on the list as a whole or not at all"
                )
            found = replace(found, groups=groups)
        if self.families is not None:
            found = self._with_families(found, columns)
        if self.signs is not None:
            signs = np.zeros(n_features, np.int64)
            for column, sign in columns.values(self.signs, "signs"):
                signs[column] = sign
            found = replace(found, signs=signs)
            signed = found.signed_groups
            if signed.size:
                label = columns.label(int(signed[0]))
                raise InputError(
                    f"signs has a sign for {label}, which belongs to a group of several columns: "
                    "these are chosen together, and a sign may set the coefficient of one to 0"
                )
        if self.costs is not None or self.budget is not None:
            found = replace(found, costs=_unit_costs(self.costs, columns, found.groups))
        if self.budget is not None:
            budgets = np.unique(np.asarray(self.budget, np.float64))
            found = replace(found, budgets=budgets)
            _check_budgets(found, columns)
        return found

    def _with_families(
        self, found: Restrictions, columns: TableColumns
    ) -> Restrictions:
        most = int(self.max_per_family or 1)
        labels = columns.labels(self.families, "families")
        fixed = Counter(labels[column] for column in found.fixed.tolist())
        for label in [one for one in fixed if one is not None and fixed[one] > most]:
            raise InputError(
                f"always_include names {fixed[label]} columns of family {label!r}, more than "
                f"max_per_family={most}"
            )
        number: dict[Any, int] = {None: 0}
        families = np.array(
            [number.setdefault(one, len(number)) for one in labels], np.int64
        )
        if found.groups is not None:
            first = np.unique(found.groups, return_index=True)[1]
            others = np.flatnonzero(families != families[first][found.groups])
            if others.size:
                column = int(others[0])
                one = columns.label(int(first[found.groups[column]]))
                raise InputError(
                    f"{one} and {columns.label(column)} are of one group, but not of one family: "
                    "a group belongs to a family as a whole"
                )
        return replace(found, families=families, max_per_family=most)


class TableColumns(NamedTuple):
    """The columns of a table, by which limits are read."""

    n_features: int
    names: npt.NDArray[Any] | None = None

    def label(self, column: int) -> str:
        """The column as messages name it."""
        return (
            f"column {column}"
            if self.names is None
            else f"column {str(self.names[column])!r}"
        )

    def indices(self, given: Iterable[Any], parameter: str) -> Indices:
        """Indices of columns given by name or index, ascending."""
        return np.unique(np.array(self.places(given, parameter), np.int64))

    def places(self, given: Iterable[Any], parameter: str) -> list[int]:
        """Index of each column given by name or index."""
        names = self.names
        known = (
            {} if names is None else {name: column for column, name in enumerate(names)}
        )
        columns = []
        for name in given:
            if isinstance(name, int) and not isinstance(name, bool):
                if not 0 <= name < self.n_features:
                    raise InputError(
                        f"{parameter} names column {name}; there are {self.n_features}"
                    )
                columns.append(name)
            elif name in known:
                columns.append(known[name])
            elif names is None:
                raise InputError(
                    f"{parameter} names {name!r}, but X has no column names: give indices"
                )
            else:
                hint = did_you_mean(str(name), [str(other) for other in names])
                raise InputError(
                    f"{parameter} names {name!r}, which is no column of X; {hint}"
                )
        return columns

    def values(self, given: Any, parameter: str) -> Iterable[tuple[int, Any]]:
        """Columns and their values, of a dict by name or index or of a value for each column."""
        if isinstance(given, dict):
            return zip(self.places(given, parameter), given.values(), strict=True)
        if len(given) != self.n_features:
            raise InputError(
                f"{parameter} must be a dict by column name, or have a value for each of the "
                f"{self.n_features} columns; got {len(given)} values"
            )
        return enumerate(given)

    def labels(self, given: Any, parameter: str) -> list[Any]:
        """Label of each column, None for columns without one."""
        labels: list[Any] = [None] * self.n_features
        for column, value in () if given is None else self.values(given, parameter):
            labels[column] = None if is_missing(value) else value
        return labels

    def numbers(self, given: Any, parameter: str) -> Indices:
        """Number of each column's label, from 0; columns without one have a number of their own."""
        labels = enumerate(self.labels(given, parameter))
        number: dict[Any, int] = {}
        own = ((column,) if label is None else label for column, label in labels)
        return np.array(
            [number.setdefault(label, len(number)) for label in own], np.int64
        )


def budgets_to_try(most: float, restrictions: Restrictions, n_features: int) -> Array:
    """Budgets up to the one given, from the smallest that pays for a list."""
    costs = restrictions.costs
    assert costs is not None
    least = max(
        restrictions.cost_of(restrictions.fixed), _cheapest(restrictions, n_features)[1]
    )
    budgets = np.linspace(min(least, most), most, _N_BUDGETS)
    # Where all costs are whole cents, no list costs anything between their sums.
    cents = np.round(100 * costs)
    if np.abs(cents - 100 * costs).max() <= 1e-6 and 0 < cents.max() < 2**53:
        step = int(np.gcd.reduce(cents.astype(np.int64))) / 100
        budgets = step * np.floor(budgets / step * (1 + 1e-12))
    return np.unique(np.append(budgets[budgets >= least], most))


def _cheapest(restrictions: Restrictions, n_features: int) -> tuple[int, float]:
    """The column of least cost, of those not excluded, and its cost with the required ones."""
    extra = restrictions.extra_costs(restrictions.fixed, np.arange(n_features))
    extra[restrictions.excluded] = np.inf
    column = int(np.argmin(extra))
    return column, float(restrictions.cost_of(restrictions.fixed) + extra[column])


def _plain(value: Any) -> Any:
    """A NumPy number or text as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _plain_values(given: Any, parameter: str) -> Any:
    """A value for each column: a dict, a tuple, or None where nothing is given."""
    if given is None:
        return None
    if hasattr(given, "keys"):  # a pandas Series too
        values = {_plain(key): _plain(given[key]) for key in list(given.keys())}
        for key, value in values.items():
            if isinstance(value, list | dict):
                raise InputError(
                    f"{parameter}: column {key!r} has {value!r}, not one value"
                )
        return values or None
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"{parameter} must be a dict or a list, got {given!r}")
    listed = np.asarray(
        given if hasattr(given, "__array__") else list(given), dtype=object
    )
    if listed.ndim != 1:
        raise InputError(
            f"{parameter} must be a dict by column name or a value for each column; got shape "
            f"{listed.shape}"
        )
    return tuple(_plain(value) for value in listed)


def _pairs(given: Any) -> Iterable[tuple[Any, Any]]:
    """Columns and their values, of a dict or of a value for each column."""
    return given.items() if isinstance(given, dict) else enumerate(given)


def _plain_list(given: Any, parameter: str) -> tuple[Any, ...]:
    """Columns given by name or index, as a tuple."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        if given is None:
            return ()
        raise InputError(f"{parameter} must be a list of columns, got {given!r}")
    columns = tuple(_plain(column) for column in given)
    for column in columns:
        if isinstance(column, bool | list | dict):
            raise InputError(
                f"{parameter} must hold column names or indices, not {column!r}"
            )
    return columns


def _read_signs(given: Any) -> Any:
    """Signs as 1, −1 and 0."""
    if given is None:
        return None
    signs = {}
    for column, value in _pairs(given):
        number = _SIGNS.get(value) if isinstance(value, str) else number_or_nan(value)
        if number not in (-1, 0, 1):
            raise InputError(
                f"signs: column {column!r} has {value!r}; a sign is 1 or '+' (no negative "
                "coefficient), -1 or '-' (no positive one), or 0 (any)"
            )
        signs[column] = int(number)
    return signs if isinstance(given, dict) else tuple(signs.values())


def _read_budget(given: Any) -> Any:
    """One budget as a float, several as a tuple."""
    if given is None:
        return None
    values = [
        number_or_nan(value)
        for value in np.atleast_1d(np.asarray(given, dtype=object)).ravel()
    ]
    for value in values:
        if not 0 <= value < np.inf:
            raise InputError(
                f"budget is {given!r}: a budget is a finite number of 0 or more"
            )
    if not values:
        raise InputError("budget is empty: give a number")
    return values[0] if np.ndim(given) == 0 else tuple(values)


def _check_costs(given: Any) -> None:
    for column, value in _pairs(given or ()):
        if not 0 <= number_or_nan(value) < np.inf:
            raise InputError(
                f"costs: the cost of column {column!r} is {value!r}; a cost is a finite number of "
                "0 or more"
            )


def _unit_costs(given: Any, columns: TableColumns, groups: Indices | None) -> Array:
    """Cost of each column, or of each group where there are groups."""
    each = np.full(columns.n_features, 1.0 if given is None else np.nan)
    for column, value in () if given is None else columns.values(given, "costs"):
        each[column] = float(value)
    unknown = [
        columns.label(column) for column in np.flatnonzero(np.isnan(each)).tolist()
    ]
    if unknown:
        raise InputError(f"costs: there is no cost for {listed(unknown, 20)}")
    if groups is None:
        return each
    first = np.unique(groups, return_index=True)[1]
    different = np.flatnonzero(each != each[first][groups])
    if different.size:
        column = int(different[0])
        other = int(first[groups[column]])
        raise InputError(
            f"costs: {columns.label(other)} costs {each[other]:g} and {columns.label(column)} "
            f"{each[column]:g}, but they are paid for once: give both the same cost"
        )
    unit_costs: Array = each[first]
    return unit_costs


def _check_budgets(restrictions: Restrictions, columns: TableColumns) -> None:
    """Refuse budgets that pay for no list, or for less than the required columns."""
    budgets = restrictions.budgets
    assert budgets is not None
    least = float(budgets.min())
    required = restrictions.cost_of(restrictions.fixed)
    if required > least * (1 + 1e-9):
        labels = ", ".join(
            columns.label(column) for column in restrictions.fixed.tolist()
        )
        raise InputError(
            f"budget is {least:g}, but what is always included ({labels}) costs {required:g}"
        )
    column, cost = _cheapest(restrictions, columns.n_features)
    if restrictions.fixed.size == 0 and cost > least * (1 + 1e-9):
        raise InputError(
            f"budget is {least:g}, but the cheapest, {columns.label(column)}, costs {cost:g}"
        )
