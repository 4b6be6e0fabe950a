"""Names of the usual kinds of arrays."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
