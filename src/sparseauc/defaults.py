"""Numbers that change answers, and the benchmark that chose each.

``benchmarks/peers.py`` compares test AUCs on 38 ordinary tables, five wide ones and
simulations, ``benchmarks/survival.py`` concordances on 16 tables of times. The numbers
were settled on other splits of the same tables than those that these report.
"""

import numpy as np

# --------------------------------------------------------------------- models that are
# tried

# Ridges where there are more rows than columns, on the standardised scale, where the
# diagonal of H is about 2: from next to none to so much that the largest differences of
# means are chosen one by one. Steps of a hundred lose nothing to finer ones (peers).
ALPHAS = (0.01, 1.0, 100.0)
# Elsewhere, where correlated columns need small ridges and few rows large ones (peers).
WIDE_ALPHAS = (0.01, 0.1, 10.0, 1000.0)
# Of times to event, where events are few for the rows: ridges closer to each other, and
# larger ones in wide tables, raise the concordance (survival).
CONCORDANCE_ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0)
WIDE_CONCORDANCE_ALPHAS = (1.0, 10.0, 100.0)
# Ridges of logistic coefficients: enough for a list that is long for the rows, to next
# to none (peers).
LOGISTIC_RIDGES = (0.5, 0.05, 0.005, 0.0005, 0.00005)
# Lengths of lists, and the rows that lists so long must have (peers).
LENGTHS = np.append(np.arange(1, 51), [55, 60, 65, 70, 80, 90, 100])
ROWS_FOR_LENGTHS = np.where(LENGTHS <= 24, 2.5, 5.0) * LENGTHS
# The path ends where the highest mean score lies so many lengths back (peers).
PATH_LENGTHS_BEYOND = 12
# Largest size of X (rows × columns) for which curves and logistic coefficients are
# tried: a fit of a larger table would take minutes (default_fit).
AUTO_MOST_VALUES = 2**22

# --------------------------------------------------------------------------- validation

# Folds, repeated until so many rows of the rarer class, or events, were validated
# (peers).
FOLDS = 5
VALIDATED_ROWS = 200
MOST_REPEATS = 5
# Mean AUCs so close are the same to whoever wants the best list, and to whoever pays
# for columns (peers).
BEST_TOLERANCE = 0.002
SHORT_TOLERANCE = 0.005
# With fewer rows of the rarer class, mean AUCs are smoothed over lengths (peers); how
# often mean concordances are, which are noisier (survival).
FEW_ROWS = 50
CONCORDANCE_SMOOTHING = 4

# -------------------------------------------------------------------------------- risks

# Next to no ridge, on the standardised score: it keeps the slope finite where a score
# separates the classes (calibration).
CALIBRATION_RIDGE = 1e-4
# Slope, in log odds for each standard deviation of the score, where a fitted one is not
# positive.
SMALL_SLOPE = 0.01
# Share of the events before the default horizon.
HORIZON_EVENTS = 0.8
# How the variance of a nested AUC grows the less the models of the folds agree, and the
# largest factor (nested_interval).
INFLATION_PER_DISAGREEMENT = 8.0
MOST_INFLATION = 1.2
