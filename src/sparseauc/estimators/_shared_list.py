"""One list of columns for several classes, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import _fit_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..chunks import Chunks, chunks_in_memory
from ..metrics import fast_auc
from ..moments.gram import StandardisedGram
from ..moments.one_vs_rest import OneVsRest
from ..solvers.restrictions import Restrictions
from ..solvers.shared import list_by_turns, shared_lists
from ._base import Floats, SparseLinearClassifier, check_weights, names_columns

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Ridges that are tried.
_ALPHAS = (1.0, 10.0)
# Columns of each class whose products are gathered at once for the turns, for each place it has.
_AHEAD = 2


class SharedListClassifier(SparseLinearClassifier):
    """One list of k columns for all classes, such as one gene panel for all cell types.

    Every class is compared with the rest by a linear score of its own, all on the same columns. The
    list is chosen from class moments: by the sum of what the classes gain, no single exchange of
    columns improving it, or by turns, so that each class has columns of its own. The classifier on
    the list is a multinomial logistic regression in which all classes weigh the same.

    Parameters
    ----------
    k : int, default=10
        Length of the list.
    alpha : float or "cv", default="cv"
        Ridge on the standardised scale; "cv" tries 1 and 10.
    gains : {"sum", "turns", "cv"}, default="cv"
        "sum": the list whose loss, summed over the classes, is least. "turns": class by class, the
        column that gains this class most beside those chosen so far. "cv" tries both. A sum is
        better for short lists, and turns where every class needs a marker.
    cv : int, splitter or iterable, default=5
        Stratified folds for what is tried, or other splits. The choice with the largest mean of
        balanced accuracy and one-against-rest AUC, both on rows left out, is taken.
    always_include : array-like of int or str, optional
        Columns that are on the list, by number or name: a panel to be extended. They count in k.
    exclude : array-like of int or str, optional
        Columns that may not be.
    random_state : int, default=0
        Seed of the folds.

    Attributes
    ----------
    support_ : ndarray of int64
        Columns of the list, ascending; fewer than k where no other column adds anything.
    alpha_, gains_ : float and str
        What was chosen, or given.
    coef_ : ndarray of shape (n_classes, d), or (1, d) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)
    classes_ : ndarray of shape (n_classes,)
    cv_results_ : dict
        ``param_alpha``, ``param_gains``, ``balanced_accuracy`` and ``auc`` of what was tried.
    n_features_in_, feature_names_in_
        As of any scikit-learn estimator.

    See Also
    --------
    SparseAUCClassifier : The best list for two classes.
    sparseauc.cells.shared_panel : The same for an AnnData.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sparseauc import SharedListClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SharedListClassifier(k=12, alpha=1.0, gains="sum").fit(X, y)
    >>> model.support_.size
    12
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "gains": [StrOptions({"sum", "turns", "cv"})],
        "cv": ["cv_object"],
        "always_include": ["array-like", None],
        "exclude": ["array-like", None],
        "random_state": ["random_state"],
    }
    _reads_chunks = True

    def __init__(
        self,
        k: int = 10,
        alpha: float | Literal["cv"] = "cv",
        *,
        gains: Literal["sum", "turns", "cv"] = "cv",
        cv: Any = 5,
        always_include: Any = None,
        exclude: Any = None,
        random_state: Any = 0,
    ) -> None:
        self._keep(locals())

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @names_columns
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the list, and fit the classifier on it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows; or a table that is read in chunks.
        y : array-like of shape (n,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows within their classes; classes weigh the same all the same.

        Returns
        -------
        self
        """
        X, numbers, weight = self._check_training_data(X, y, sample_weight)
        label = np.asarray(numbers, np.int64)
        chunks = X if isinstance(X, Chunks) else chunks_in_memory(X)
        d = self.n_features_in_
        fixed, excluded = self._named_columns("always_include"), self._named_columns("exclude")
        self._check_lists(fixed, excluded)
        k = self._columns_to_keep(self.k, d - excluded.size)
        restrictions = Restrictions(fixed, excluded)
        alphas = _ALPHAS if self.alpha == "cv" else (float(self.alpha),)
        rules = ("sum", "turns") if self.gains == "cv" else (self.gains,)
        tried = [(alpha, gains) for gains in rules for alpha in alphas]
        if len(tried) > 1:
            scores = self._cross_validate(chunks, label, weight, k, restrictions, tried)
            best = int(np.argmax(scores.sum(axis=1)))
            self.cv_results_ = {
                "param_alpha": np.array([alpha for alpha, _ in tried]),
                "param_gains": np.array([gains for _, gains in tried]),
                "balanced_accuracy": scores[:, 0],
                "auc": scores[:, 1],
            }
            tried = [tried[best]]
        ((self.alpha_, self.gains_),) = tried
        (self.support_,) = _lists(chunks, label, weight, k, restrictions, tried)
        values = chunks.take(np.arange(label.size), self.support_)
        _, coef, self.intercept_ = _fit_logistic(values, label, weight)
        self.coef_ = np.zeros((coef.shape[0], d))
        self.coef_[:, self.support_] = coef
        return self

    def decision_function(self, X: Any) -> Floats:
        """Score rows for every class, of shape (n, n_classes), or (n,) for two classes."""
        check_is_fitted(self, "coef_")
        chunks = self._as_chunks(X)
        if chunks is None:
            (X,) = self._check_table(X, reset=False)
            values = X[:, self.support_]
        else:
            self._check_chunk_columns(chunks)
            values = chunks.take(np.arange(chunks.shape[0]), self.support_)
        scores: Floats = values @ self.coef_[:, self.support_].T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, of shape (n, n_classes), as if all were as common."""
        scores = self.decision_function(X)
        return _probabilities(scores[:, None] if scores.ndim == 1 else scores)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of the largest score."""
        largest = np.argmax(self.predict_proba(X), axis=1)
        labels: npt.NDArray[Any] = self.classes_[largest]
        return labels

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        mask = np.zeros(self.n_features_in_, np.bool_)
        mask[self.support_] = True
        return mask

    def _short_list(self) -> str:
        """Coefficients of many classes are no table for a notebook."""
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _check_labels(self, y: npt.NDArray[Any], sample_weight: Any) -> tuple[Any, Array | None]:
        """Set ``classes_``; return the number of each row's class, −1 without weight."""
        check_classification_targets(y)
        weight = None if sample_weight is None else check_weights(sample_weight, y)
        counted = np.ones(y.size, np.bool_) if weight is None else weight > 0
        self.classes_ = np.unique(y)
        for name in self.classes_[~np.isin(self.classes_, y[counted])][:1].tolist():
            raise ValueError(
                f"sample_weight is zero on all rows of class {name!r}: "
                "give at least one row of each class a positive weight"
            )
        if self.classes_.size < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_.tolist()[0]!r}: two classes are needed"
            )
        label = np.searchsorted(self.classes_, y).astype(np.int64)
        return np.where(counted, label, -1), weight

    def _cross_validate(
        self, chunks: Chunks, label: Indices, weight: Array | None, k: int,
        restrictions: Restrictions, tried: list[tuple[float, str]],
    ) -> Array:  # fmt: skip
        """Mean balanced accuracy and one-against-rest AUC of what is tried, (tried, 2)."""
        cv = self.cv
        if isinstance(cv, Integral):
            n_folds = max(2, min(int(cv), int(np.bincount(label[label >= 0]).max())))
            cv = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
        with warnings.catch_warnings():
            # A class of fewer rows than folds is judged where it can be.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = list(check_cv(cv).split(label, label))
        scores = []
        for train, test in splits:
            training = np.full(label.size, -1, np.int64)
            training[train] = label[train]
            lists = _lists(chunks, training, weight, k, restrictions, tried)
            left_out = test[label[test] >= 0]
            scores.append([_judge(chunks, label, training, weight, left_out, A) for A in lists])
        means: Array = np.mean(scores, axis=0)
        return means


def _lists(
    chunks: Chunks, label: Indices, weight: Array | None, k: int, restrictions: Restrictions,
    tried: list[tuple[float, str]],
) -> list[Indices]:  # fmt: skip
    """The list of each ridge and rule, from the rows whose label is 0 or more."""
    present, numbers = np.unique(label[label >= 0], return_inverse=True)
    number = np.full(label.size, -1, np.int64)
    number[label >= 0] = numbers
    every = OneVsRest(chunks, number, present.size, weight)
    grams = [StandardisedGram(moments) for moments in every.against_rest()]
    found = []
    for alpha, gains in tried:
        if gains == "sum":
            (solutions,) = shared_lists(grams, np.array([k]), alpha, restrictions)
            found.append(np.union1d(solutions[0].support, restrictions.fixed))
            continue
        ahead = _AHEAD * (1 + k // present.size)
        first = [np.argsort(-(gram.delta**2) / (gram.diagonal + alpha))[:ahead] for gram in grams]
        every.gather(np.unique(np.concatenate([*first, restrictions.fixed])))
        found.append(list_by_turns(grams, k, alpha, restrictions))
    return found


def _fit_logistic(
    values: Array, label: Indices, weight: Array | None
) -> tuple[Indices, Array, Array]:
    """Classes present, coefficients and intercepts; classes weigh the same."""
    rows = label >= 0
    X, y = values[rows], label[rows]
    present, number = np.unique(y, return_inverse=True)
    given = np.ones(y.size) if weight is None else weight[rows]
    share = given / np.bincount(number, given)[number] / present.size
    mean = share @ X
    scale = np.sqrt(share @ (X - mean) ** 2)
    scale[scale == 0] = 1.0
    model = LogisticRegression(max_iter=1000)
    model.fit((X - mean) / scale, y, share * given.sum())
    coef = model.coef_ / scale
    return present, coef, model.intercept_ - coef @ mean


def _probabilities(scores: Floats) -> Floats:
    if scores.shape[1] == 1:
        positive = expit(scores)
        return np.concatenate([1.0 - positive, positive], axis=1)
    probabilities: Floats = softmax(scores, axis=1)
    return probabilities


def _judge(
    chunks: Chunks, label: Indices, training: Indices, weight: Array | None, left_out: Indices,
    columns: Indices,
) -> tuple[float, float]:  # fmt: skip
    """Balanced accuracy and one-against-rest AUC of a list on rows left out."""
    values = chunks.take(np.arange(label.size), columns)
    present, coef, intercept = _fit_logistic(values, training, weight)
    probabilities = _probabilities(values[left_out] @ coef.T + intercept)
    truth = label[left_out]
    counts = np.ones(truth.size) if weight is None else weight[left_out]
    predicted = present[np.argmax(probabilities, axis=1)]
    aucs = [
        fast_auc(score, truth == number, counts)
        for number, score in zip(present.tolist(), probabilities.T, strict=True)
        if 0 < np.count_nonzero(truth == number) < truth.size
    ]
    right = np.bincount(truth, counts * (predicted == truth))
    total = np.bincount(truth, counts)
    recalls = right[total > 0] / total[total > 0]
    return float(recalls.mean()), float(np.mean(aucs)) if aucs else 0.5
