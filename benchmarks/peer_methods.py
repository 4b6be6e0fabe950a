"""Peers of the comparison, each as a family of models that inner cross-validation chooses from.

A family is a function ``family(X, positive, X_new)`` that fits all its models on
standardised rows and returns their scores of new rows, (models, new rows), and the
number of columns of each. Models come in the same order whatever the rows.
"""

import time

import numpy as np
from numba import njit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from sparseauc.metrics import fast_auc

STRENGTHS = np.logspace(-2, 2, 12)
# Between them, for a model of nearly every length.
MORE_STRENGTHS = np.logspace(-3, 0, 40)
# No list of a peer is longer: at that length none gains any more on these tables.
LONGEST = 50


def l1_logistic(X, positive, X_new, strengths=STRENGTHS):
    """L1-penalised logistic regression."""
    if X.shape[1] > len(X):
        models = [
            LogisticRegression(
                l1_ratio=1.0,
                C=C,
                solver="liblinear",
                class_weight="balanced",
                random_state=0,
            ).fit(X, positive)
            for C in strengths
        ]
        return _linear(models, X_new)
    return _penalised_logistic(X, positive, X_new, strengths, 1.0)


def ridge_logistic(X, positive, X_new):
    """Ridge-penalised logistic regression: all columns."""
    return _penalised_logistic(X, positive, X_new, np.logspace(-5, 3, 12), 0.0)


def _penalised_logistic(X, positive, X_new, strengths, l1_ratio):
    """Logistic regressions with balanced classes, from the largest penalty down.

    The minimisers that ``LogisticRegression(C=C, l1_ratio=…, class_weight="balanced")``
    approaches, to ten digits and without a penalty on the intercept, in a tenth of its
    time or less.
    """
    share = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    columns, side = np.ascontiguousarray(X.T), np.where(positive, 1.0, -1.0)
    coefs = _descend_path(
        columns, side, share, 1.0 / (len(X) * np.asarray(strengths)), l1_ratio
    )
    return coefs @ X_new.T, np.count_nonzero(coefs, axis=1)


def abess(X, positive, X_new):
    """Best-subset logistic regression of every length."""
    from abess import LogisticRegression as BestSubset

    # It refuses columns that are constant in a fold.
    varying = X.any(axis=0)
    most = np.count_nonzero(varying)
    labels = positive.astype(int)
    models = [
        BestSubset(support_size=[min(k, most)]).fit(X[:, varying], labels)
        for k in _lengths(X)
    ]
    return _linear(models, X_new[:, varying])[0], _lengths(X)


def fastsparsegams(X, positive, X_new):
    """Logistic regression with an L0 and an L2 penalty."""
    import fastsparsegams

    # Penalties stand beside the sum of the losses.
    lambdas = (len(X) * np.geomspace(0.3, 3e-5, 40)).tolist()
    fit = fastsparsegams.fit(
        X * 1.0, np.where(positive, 1.0, -1.0), loss="Logistic", penalty="L0L2",
        lambda_grid=[lambdas] * 3, gamma_max=1.0, gamma_min=1e-4, num_gamma=None, num_lambda=None,
        max_support_size=min(LONGEST, X.shape[1]),
    )  # fmt: skip
    # Once a model has the most columns allowed, the rest of its path is not fitted: it
    # stands.
    coefs = np.zeros((3, len(lambdas), X.shape[1]))
    for i, gamma in enumerate(fit.gamma):
        for j in range(len(lambdas)):
            strength = fit.lambda_0[i][min(j, len(fit.lambda_0[i]) - 1)]
            coef = fit.coeff(strength, gamma, include_intercept=False)
            coefs[i, j] = np.ravel(coef.todense())
    coefs = coefs.reshape(-1, X.shape[1])
    return coefs @ X_new.T, np.count_nonzero(coefs, axis=1)


def fastcan(X, positive, X_new):
    """Columns by canonical correlation, forward, then logistic regression."""
    from fastcan import FastCan

    lengths = _lengths(X)
    # It refuses to choose more columns than are linearly independent.
    most = min(int(lengths[-1]), int(np.linalg.matrix_rank(X)))
    order = FastCan(most, verbose=0).fit(X, positive.astype(float)).indices_
    scores = []
    for k in lengths:
        model = LogisticRegression(max_iter=1000).fit(X[:, order[:k]], positive)
        scores.append(model.decision_function(X_new[:, order[:k]]))
    return np.array(scores), lengths


def mean_difference(X, positive, X_new):
    """Columns with the largest standardised difference of means, weighted by it."""
    difference = X[positive].mean(axis=0) - X[~positive].mean(axis=0)
    order = np.argsort(-np.abs(difference), kind="stable")
    lengths = _lengths(X)
    scores = np.cumsum(X_new[:, order] * difference[order], axis=1)[:, lengths - 1].T
    return scores, lengths


def gradient_boosting(X, positive, X_new):
    """Gradient boosting of trees of several sizes, after several numbers of trees: all columns."""
    scores = []
    for leaves in (3, 8, 31):
        model = HistGradientBoostingClassifier(
            max_leaf_nodes=leaves, early_stopping=False, random_state=0
        ).fit(X, positive)
        staged = list(model.staged_decision_function(X_new))
        scores += [np.ravel(staged[trees - 1]) for trees in (10, 25, 50, 100)]
    return np.array(scores), np.full(len(scores), X.shape[1])


def ebm(X, positive, X_new):
    """An additive model of boosted trees, one column each, with its defaults: all columns."""
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(interactions=0, random_state=0, n_jobs=1)
    scores = model.fit(X, positive).decision_function(X_new)
    return scores[None], np.array([X.shape[1]])


FAMILIES = {
    "L1 logistic": l1_logistic,
    "ridge logistic": ridge_logistic,
    "abess": abess,
    "fastsparsegams": fastsparsegams,
    "fastcan + logistic": fastcan,
    "mean difference": mean_difference,
    "gradient boosting": gradient_boosting,
    "EBM": ebm,
}


def tuned(family, data, inner_splits, ks):
    """Test AUC and columns of the model that inner folds choose, of any length and for each k.

    Also the CPU time of the choice and the fit of any length, in seconds.

    Where the length is a parameter, the model for k has exactly k columns; else it has
    at most k and the highest mean AUC of the inner folds. L1-penalised regression
    reaches every length only with many penalties: for k it is the longest list of at
    most k columns.
    """
    X, positive, X_test, positive_test = data
    start = time.process_time()
    inner = []
    for train, test in inner_splits:
        scores, _ = family(*_standardised(X[train], positive[train], X[test]))
        inner.append([fast_auc(score, positive[test]) for score in scores])
    means = np.mean(inner, axis=0) if inner else np.zeros(1)
    rows = _standardised(X, positive, X_test)
    scores, columns = family(*rows)
    best = int(np.argmax(means))
    chosen = [(scores[best], columns[best])]
    seconds = time.process_time() - start
    if family is l1_logistic and ks:
        scores, columns = l1_logistic(*rows, MORE_STRENGTHS)
        means = columns
    exact = family in (abess, fastcan, mean_difference)
    for k in ks:
        fits = columns == min(k, columns.max()) if exact else columns <= k
        best = int(np.argmax(np.where(fits, means, -1.0)))
        chosen.append((scores[best], columns[best]))
    models = [(fast_auc(score, positive_test), int(length)) for score, length in chosen]
    return models, seconds


def _standardised(X, positive, X_new):
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1.0
    return (X - mean) / deviation, positive, (X_new - mean) / deviation


def _linear(models, X_new):
    scores = np.array([X_new @ np.ravel(model.coef_) for model in models])
    return scores, np.array([np.count_nonzero(model.coef_) for model in models])


def _lengths(X):
    return np.arange(1, min(X.shape[1], LONGEST) + 1)


@njit(cache=True)
def _descend_path(columns, side, share, penalties, l1_ratio):
    """Coefficients for each penalty, in descending order, by Newton's method."""
    d, n = columns.shape
    coefs, coef, scores = np.zeros((penalties.size, d)), np.zeros(d), np.zeros(n)
    for number in range(penalties.size):
        l1, l2 = l1_ratio * penalties[number], (1.0 - l1_ratio) * penalties[number]
        for _ in range(100):
            chance = 1.0 / (1.0 + np.exp(side * scores))
            slope, weight = (
                -side * share * chance,
                share * chance * (1.0 - chance) + 1e-14,
            )
            pull, total = slope.sum(), weight.sum()
            # The intercept is eliminated: whatever the coefficients do, it follows.
            middle = columns @ weight / total
            H = (columns * weight) @ columns.T - total * np.outer(middle, middle)
            gradient = columns @ slope - middle * pull + l2 * coef
            H += (l2 + 1e-12) * np.eye(d)
            step = _newton_step(H, gradient, coef, l1)
            move = step @ columns - pull / total - middle @ step
            gain = -(gradient @ step) + 0.5 * pull**2 / total
            gain += l1 * (np.abs(coef).sum() - np.abs(coef + step).sum())
            if gain < 1e-10:
                break
            before, length = _loss(scores, side, share, coef, l1, l2), 1.0
            while length > 1e-8:
                there = coef + length * step
                if before - _loss(
                    scores + length * move, side, share, there, l1, l2
                ) >= (1e-4 * length * gain):
                    break
                length /= 2.0
            coef = coef + length * step
            scores = scores + length * move
        coefs[number] = coef
    return coefs


@njit(cache=True)
def _newton_step(H, gradient, coef, l1):
    """Step to the least of the quadratic model and the penalty, coordinate by coordinate."""
    if l1 == 0.0:
        return -np.linalg.solve(H, gradient)
    step, slope = np.zeros(coef.size), gradient.copy()
    for _ in range(1000):
        largest = 0.0
        for j in range(coef.size):
            old = coef[j] + step[j]
            aim = H[j, j] * old - slope[j]
            new = np.sign(aim) * max(abs(aim) - l1, 0.0) / H[j, j]
            if new != old:
                step[j] += new - old
                slope += (new - old) * H[j]
                largest = max(largest, H[j, j] * (new - old) ** 2)
        if largest < 1e-14:
            break
    return step


@njit(cache=True)
def _loss(scores, side, share, coef, l1, l2):
    margins = side * scores
    losses = np.log1p(np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0)
    return share @ losses + l1 * np.abs(coef).sum() + 0.5 * l2 * (coef @ coef)
