"""SPAM's step on CSR rows, in the time of a row's non-zeros although every step shrinks all of w.

Entry j of w is kept as a *level* ℓ_j, from which w_j = S·sign(ℓ_j)·(|ℓ_j| − C). Dividing w by a
number then changes the scale S alone, and soft thresholding adds to the cumulative threshold C
alone: |ℓ_j| is the value of C at which entry j reaches zero. Entries at zero have the level zero.

- The products with the class sums s, of which a step needs one, are linear in S and C:
  w·s = S·(Σ ℓ_j s_j − C·Σ sign(ℓ_j) s_j). Both sums change with a row's own entries, and when C
  passes a level. A calendar tells when: its slots divide the way of C, and a card in a slot names a
  column whose level lies there. (A heap of the levels does the same two to five times slower.)
- The sum of all iterates is linear in K = ΣS and Q = ΣSC: entry j has ℓ_j K − sign(ℓ_j) Q since K
  and Q were zero, plus a correction written whenever ℓ_j changes.

Every so many rows that an O(d) sweep is lost among them, all is written out and S, C, K, Q begin
anew: rounding does not pile up, S cannot vanish, and cards are needed only for levels that C can
reach until then.
"""

import math

import numpy as np

from sparseauc._jit import inlined_kernel, kernel

from ._online import LEAST_SCALE

# Non-zeros between two sweeps over all columns, as a multiple of d.
_BETWEEN_SWEEPS = 4


@kernel
def multiplier(is_positive, margin, ratio):  # type: ignore[no-untyped-def]
    """Factor of x in the gradient at a row, given w·(x − mean of the other class).

    SPAM's 2(1 − r)(w·x − u) − 2(1 − r)(1 + v − u) with u = w·x̄₊ and v = w·x̄₋ is free of u, and
    what it has for a negative row is free of v.
    """
    return 2.0 * (1.0 - ratio) * (margin - 1.0) if is_positive else 2.0 * ratio * (margin + 1.0)


@kernel
def _sign(value):  # type: ignore[no-untyped-def]
    return np.float64(value > 0.0) - np.float64(value < 0.0)


@kernel
def _write_out(level, scale, threshold, mass, moment, correction, average):  # type: ignore[no-untyped-def]
    """Set levels to w itself, for S = 1 and C = 0, and bring the sum of iterates up to date."""
    for j in range(level.size):
        sign = _sign(level[j])
        if average.size:
            average[j] += level[j] * mass - sign * moment + correction[j]
            correction[j] = 0.0
        level[j] = scale * (level[j] - sign * threshold)


@kernel
def _products(level, total):  # type: ignore[no-untyped-def]
    """Σ ℓ_j s_j and Σ sign(ℓ_j) s_j."""
    product, signed = 0.0, 0.0
    for j in range(level.size):
        product += level[j] * total[j]
        signed += _sign(level[j]) * total[j]
    return product, signed


@kernel
def _begin_calendar(level, limit, per_slot, first, column_of, following):  # type: ignore[no-untyped-def]
    """Write a card for every entry whose level C may reach; returns how many."""
    first[:] = -1
    size = 0
    for j in range(level.size):
        if 0.0 < abs(level[j]) <= limit:
            slot = np.int64(abs(level[j]) * per_slot)
            column_of[size], following[size], first[slot] = j, first[slot], size
            size += 1
    return size


# Compiled into its caller: a call counts the references to every array it is given, on every row.
@inlined_kernel
def _pass_levels(  # type: ignore[no-untyped-def]
    level, threshold, slot, last, first, column_of, following, sum_positive, sum_negative,
    mass, moment, correction,
):  # fmt: skip
    """Set to zero the entries in these slots whose level C has passed.

    Returns what they had in Σ ℓ_j s_j and Σ sign(ℓ_j) s_j, for the positives and the negatives. An
    entry that has moved to another level has another card there, and its old one is thrown away.
    """
    product_positive, signed_positive, product_negative, signed_negative = 0.0, 0.0, 0.0, 0.0
    while slot <= last:
        card, kept = first[slot], np.int64(-1)
        while card >= 0:
            j, after = column_of[card], following[card]
            at = level[j]
            if abs(at) > threshold:
                following[card], kept = kept, card
            elif at != 0.0:
                sign = _sign(at)
                product_positive += at * sum_positive[j]
                product_negative += at * sum_negative[j]
                signed_positive += sign * sum_positive[j]
                signed_negative += sign * sum_negative[j]
                if correction.size:
                    correction[j] += at * mass - sign * moment
                level[j] = 0.0
            card = after
        # Only the slot where C stands now is looked at again.
        first[slot] = kept
        slot += 1
    return product_positive, signed_positive, product_negative, signed_negative


@kernel
def descend_csr_rows(table, rows, positive, weight, run, t):  # type: ignore[no-untyped-def]
    """Take SPAM's step on each row, the first of which is step t + 1."""
    data, indices, indptr = table.data, table.indices, table.indptr
    sum_positive, sum_negative, counts = run.sums.positive, run.sums.negative, run.sums.counts
    l1, l2, step_size, w, average = run.l1, run.l2, run.step_size, run.w, run.average
    d = w.size
    level = w.astype(np.float64)
    correction = np.zeros(average.size)
    scale, threshold, mass, moment = 1.0, 0.0, 0.0, 0.0  # S, C, K, Q
    product_positive, signed_positive, product_negative, signed_negative = 0.0, 0.0, 0.0, 0.0

    longest, n_nonzeros = np.int64(0), np.int64(0)
    for row in rows:
        length = np.int64(indptr[row + 1] - indptr[row])
        longest = max(longest, length)
        n_nonzeros += length
    rows_between = min(1 + _BETWEEN_SWEEPS * d * rows.size // max(n_nonzeros, 1), rows.size)
    unread = 0  # non-zeros until the next sweep
    limit, per_slot = 0.0, 0.0  # C at the next sweep at the latest; slots to a unit of C
    first, size = np.empty(rows_between + 1, np.int64), 0
    room = (1 + _BETWEEN_SWEEPS) * d + longest if l1 > 0.0 else 0
    column_of, following = np.empty(room, np.int64), np.empty(room, np.int64)

    for row in rows:
        t += 1
        step = step_size / math.sqrt(t)
        amount = step * l1 / scale
        if unread <= 0 or not scale > LEAST_SCALE or threshold + amount > limit:
            _write_out(level, scale, threshold, mass, moment, correction, average)
            scale, threshold, mass, moment = 1.0, 0.0, 0.0, 0.0
            product_positive, signed_positive = _products(level, sum_positive)
            product_negative, signed_negative = _products(level, sum_negative)
            unread = _BETWEEN_SWEEPS * d
            if l1 > 0.0:
                # What these rows add up to while S is 1, or a little more, within the range where
                # its slots are numbers.
                ahead = 2.0 * step_size * (math.sqrt(t + rows_between) - math.sqrt(t))
                amount = min(step * l1, 1e300)
                limit = min(max(amount + ahead * l1, 1e-300), 1e300)
                per_slot = rows_between / limit
                size = _begin_calendar(level, limit, per_slot, first, column_of, following)
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        unread -= np.int64(stop - start)
        is_positive = positive[row]

        score = 0.0
        for p in range(start, stop):
            at = level[np.uint64(indices[p])]
            score += data[p] * (at - _sign(at) * threshold)
        score *= scale

        if run.gathers:
            own = sum_positive if is_positive else sum_negative
            product, signed = 0.0, 0.0
            for p in range(start, stop):
                j = np.uint64(indices[p])
                own[j] += data[p]
                product += level[j] * data[p]
                signed += _sign(level[j]) * data[p]
            counts[0 if is_positive else 1] += 1.0
            if is_positive:
                product_positive += product
                signed_positive += signed
            else:
                product_negative += product
                signed_negative += signed

        if is_positive:
            other = scale * (product_negative - threshold * signed_negative)
        else:
            other = scale * (product_positive - threshold * signed_positive)
        count = counts[1 if is_positive else 0]
        other = other / count if count > 0.0 else 0.0
        ratio = counts[0] / (counts[0] + counts[1])
        move = step * multiplier(is_positive, score - other, ratio) / scale
        if weight.size:
            move *= weight[row]

        for p in range(start, stop):
            j = np.uint64(indices[p])
            before = level[j]
            sign_before = _sign(before)
            after = before - sign_before * threshold - move * data[p]
            sign = _sign(after)
            # NaN fails the comparison and stays: divergence must show.
            if abs(after) <= amount:
                after, sign = 0.0, 0.0
            else:
                after += sign * threshold
                if abs(after) <= limit:
                    slot = np.uint64(abs(after) * per_slot)
                    column_of[size], following[size], first[slot] = j, first[slot], size
                    size += 1
            level[j] = after
            product_positive += (after - before) * sum_positive[j]
            product_negative += (after - before) * sum_negative[j]
            signed_positive += (sign - sign_before) * sum_positive[j]
            signed_negative += (sign - sign_before) * sum_negative[j]
            if average.size:
                correction[j] += (before - after) * mass - (sign_before - sign) * moment

        if l1 > 0.0:
            slot_before = np.int64(threshold * per_slot)
            threshold += amount
            left = _pass_levels(
                level, threshold, slot_before, np.int64(threshold * per_slot), first, column_of,
                following, sum_positive, sum_negative, mass, moment, correction,
            )  # fmt: skip
            product_positive -= left[0]
            signed_positive -= left[1]
            product_negative -= left[2]
            signed_negative -= left[3]
        scale /= 1.0 + step * l2
        mass += scale
        moment += scale * threshold
    _write_out(level, scale, threshold, mass, moment, correction, average)
    w[:] = level
