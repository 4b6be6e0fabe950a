"""H_k of many rows on a GPU: a row stays in registers while its k-th largest is found.

Sorting or selecting tens of thousands of rows of a thousand numbers reads and writes them many
times over, and costs more than the products of a step. Here each is read and written once. The k-th
largest magnitude is found bit by bit: magnitudes order like the integers of the same bits.

Importing this needs Triton, which torch for GPUs brings along.
"""

from __future__ import annotations

from typing import Any

import torch
import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit  # type: ignore[untyped-decorator]
def _keep_largest_row(source, ks, out, n_models, length, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, WIDTH)
    inside = column < length
    value = tl.load(source + row * length + column, mask=inside, other=0.0)
    bits = tl.abs(value).to(tl.int32, bitcast=True)
    k = tl.load(ks + row % n_models)
    threshold = tl.zeros((), tl.int32)
    for i in range(31):
        higher = threshold | (1 << (30 - i))
        reached = tl.sum((bits >= higher).to(tl.int32), 0)
        threshold = tl.where(reached >= k, higher, threshold)
    above = bits > threshold
    places = k - tl.sum(above.to(tl.int32), 0)
    # Of equal magnitudes the first win; zeros are never chosen.
    tied = (bits == threshold) & inside & (threshold > 0)
    kept = above | (tied & (tl.cumsum(tied.to(tl.int32), 0) <= places))
    # 0x7F800000 is infinity; NaN lies beyond it.
    nothing = tl.where(tl.max(bits, 0) >= 0x7F800000, float("nan"), 0.0)
    tl.store(out + row * length + column, tl.where(kept, value, nothing), mask=inside)


def keep_largest(candidate: Any, ks: Any) -> Any:
    """Keep the k_m largest magnitudes of ``candidate[:, m]``, float32 of shape (s, g, d).

    Where an entry is not finite, those left out become NaN. ``ks`` are int32 on the same device.
    """
    s, g, d = candidate.shape
    source = candidate.contiguous()
    out = torch.empty_like(source)
    with torch.cuda.device(source.device):
        _keep_largest_row[(s * g,)](
            source, ks, out, g, d, WIDTH=max(32, triton.next_power_of_2(d)), num_warps=1
        )
    return out
