"""Missing values: what they are replaced by."""

from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.impute import SimpleImputer

from sparseauc.defaults import CLIP
from sparseauc.transforms import learn_transforms


class Imputer(SimpleImputer):
    """Replace missing values by the median or mean of values as they are clipped and logged.

    So a few extreme values do not decide what missing ones count as: of a skewed column, "mean" is
    that of the logarithms, and of a column with heavy tails that of the clipped values.

    Parameters
    ----------
    strategy : {"median", "mean"}
    clip : "auto", float or None
        As in :class:`~sparseauc.SparseAUCClassifierCV`. With "auto" every column that the
        classifier would clip is clipped here, whatever cross-validation says.
    log : "auto" or bool
        Likewise.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        The replacements, in the units of the columns.
    """

    def __init__(
        self,
        *,
        strategy: Literal["median", "mean"] = "median",
        clip: Literal["auto"] | float | None = None,
        log: Literal["auto"] | bool = False,
    ) -> None:
        super().__init__(strategy=strategy, keep_empty_features=True)
        self.clip = clip
        self.log = log

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the replacements of each column from the values that are there."""
        super().fit(X, y)
        if sp.issparse(X) or (self.clip is None and not self.log):
            return self
        centre = np.median if self.strategy == "median" else np.mean
        clip = CLIP if self.clip == "auto" else self.clip
        for j, values in enumerate(np.asarray(X).T):
            known = values[~np.isnan(values), None]
            if not known.size:
                continue
            (transform,) = learn_transforms(
                known, [None], clip=clip, heavy_only=self.clip == "auto", log=bool(self.log)
            )
            if transform.changed.size:
                middle = centre(transform.apply(known), axis=0, keepdims=True)
                self.statistics_[j] = transform.undo(middle)[0, 0]
        return self
