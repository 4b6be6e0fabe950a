"""Keeping the k largest: our Floyd–Rivest selection against `numpy.argpartition`.

Ours is `largest_magnitudes` as a solver calls it, into scratch space that exists, with nothing
known about the vector (floor 0). It returns sorted indices, settles ties and refuses NaN; NumPy's
is `argpartition(abs(v), d - k)`, which does none of that.
"""

import measuring  # noqa: F401  # isort: skip
from common import interleaved_minimum, report, verdict  # isort: skip

import numpy as np

from sparseauc_paper.projections import hard_threshold, largest_magnitudes


def inputs(d):
    """Vectors that are easy, typical and awkward for a selection."""
    rng = np.random.default_rng(0)
    gaussian = rng.standard_normal(d)
    rising = np.arange(d)
    return {
        "gaussian": gaussian,
        "sorted ascending": np.sort(np.abs(gaussian)),
        "sorted descending": np.sort(np.abs(gaussian))[::-1],
        "constant": np.ones(d),
        "organ pipe": np.minimum(rising, rising[::-1]),
        "integers 0 to 9": rng.integers(0, 10, d),
    }


SIZES = [(10**e, np.float64) for e in range(3, 8)] + [(10**6, np.float32)]


def compare(v, k):
    """Microseconds of ours and of NumPy's, after checking that they choose equal magnitudes."""
    magnitudes, support = np.empty_like(v), np.empty(k, np.int64)

    def ours():
        return largest_magnitudes(v, k, 0.0, magnitudes, support)

    def numpys():
        return np.argpartition(np.abs(v), v.size - k)

    size = ours()
    chosen = np.sort(np.abs(v[support[:size]]))
    # Zeros are never chosen by ours.
    theirs = np.sort(np.abs(v[numpys()[-k:]]))
    assert np.array_equal(chosen, theirs[theirs > 0])
    repeats = int(np.clip(2 * 10**7 // v.size, 5, 500))
    return [seconds * 1e6 for seconds in interleaved_minimum([ours, numpys], repeats)]


def nan_is_refused():
    """Show it: the kernel reports, the public function says where; NumPy sorts NaN as largest."""
    v = np.ones(1000)
    v[123] = np.nan
    reported = largest_magnitudes(v, 20, 0.0, np.empty_like(v), np.empty(20, np.int64))
    assert reported == -1
    try:
        hard_threshold(v, 20)
    except ValueError as error:
        said = str(error)
    else:
        raise AssertionError("hard_threshold accepted NaN")
    chosen = 123 in np.argpartition(np.abs(v), 980)[-20:]
    return (
        "one NaN among 1000",
        20,
        f'refused: "{said}"',
        "chosen as largest" if chosen else "not chosen",
        "",
        "",
    )


def main():
    rows = []
    for d, dtype in SIZES:
        for name, vector in inputs(d).items():
            v = np.ascontiguousarray(vector, dtype)
            for k in (20, d // 10):
                ours, numpys = compare(v, k)
                rows.append(
                    (
                        f"{name}, {v.dtype}, d={d}",
                        k,
                        f"{ours:.1f}",
                        f"{numpys:.1f}",
                        f"{ours / numpys:.2f}",
                        verdict(ours / numpys, 1.0),
                    )
                )
    rows.append(nan_is_refused())
    report(
        "projections",
        "Keeping the k largest: Floyd–Rivest against `argpartition`",
        ["input", "k", "ours, µs", "abs + argpartition, µs", "ours / NumPy", "limit"],
        rows,
    )


if __name__ == "__main__":
    main()
