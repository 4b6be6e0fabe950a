"""Row blocks are a partition, the same for the same seed, visited as their order says."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sparseauc_paper.blocks import BLOCK_ORDERS, RowBlocks, visiting_order

sizes = {"n": st.integers(1, 500), "batch_size": st.integers(1, 600)}


def partition(n, batch_size, *, shuffle=True, seed=0):
    return RowBlocks.partition(
        n, batch_size, shuffle=shuffle, rng=np.random.default_rng(seed)
    )


def as_lists(blocks):
    starts = blocks.starts
    return [blocks.rows[starts[i] : starts[i + 1]].tolist() for i in range(len(blocks))]


@given(**sizes, shuffle=st.booleans(), seed=st.integers(0, 2**32 - 1))
@example(n=1, batch_size=1, shuffle=True, seed=0)
@example(n=65, batch_size=64, shuffle=True, seed=0)
def test_blocks_are_an_even_partition(n, batch_size, shuffle, seed):
    blocks = partition(n, batch_size, shuffle=shuffle, seed=seed)
    assert blocks.rows.dtype == np.int64
    assert blocks.starts.dtype == np.int64
    listed = as_lists(blocks)
    assert sorted(row for block in listed for row in block) == list(range(n))
    lengths = [len(block) for block in listed]
    assert max(lengths) <= batch_size
    assert min(lengths) >= 1
    assert max(lengths) - min(lengths) <= 1
    # The fewest blocks that hold n rows.
    assert len(blocks) == int(np.ceil(n / batch_size))
    # Memory is read forwards within a block.
    assert all(block == sorted(block) for block in listed)


@given(**sizes)
def test_unshuffled_blocks_are_neighbours_in_order(n, batch_size):
    rng = np.random.default_rng(3)
    blocks = RowBlocks.partition(n, batch_size, shuffle=False, rng=rng)
    assert_array_equal(blocks.rows, np.arange(n))
    # And nothing was drawn from the generator.
    assert rng.bit_generator.state == np.random.default_rng(3).bit_generator.state


def test_same_seed_same_partition():
    assert as_lists(partition(1000, 64, seed=5)) == as_lists(
        partition(1000, 64, seed=5)
    )
    assert as_lists(partition(1000, 64, seed=5)) != as_lists(
        partition(1000, 64, seed=6)
    )


def test_shuffle_deals_a_table_sorted_by_class():
    # A tenth of the rows is positive, all at the top: dealt out, every block of 100
    # gets some.
    positive = np.arange(2000) < 200
    assert all(positive[block].any() for block in as_lists(partition(2000, 100)))
    unshuffled = as_lists(partition(2000, 100, shuffle=False))
    assert sum(positive[block].any() for block in unshuffled) == 2


def test_every_row_is_as_likely_in_every_block():
    # 400 partitions of 20 rows into 4 blocks: a row falls into the first block 100
    # times, and 45 is more than five standard deviations.
    rng = np.random.default_rng(0)
    first = np.zeros(20)
    for _ in range(400):
        blocks = RowBlocks.partition(20, 5, shuffle=True, rng=rng)
        first[blocks.rows[:5]] += 1
    assert np.all(np.abs(first - 100) < 45)


@pytest.mark.parametrize("block_order", BLOCK_ORDERS)
def test_visiting_order_has_one_visit_a_block(block_order):
    blocks = partition(100, 7)
    rng = np.random.default_rng(0)
    orders = [visiting_order(len(blocks), block_order, rng) for _ in range(50)]
    for order in orders:
        assert order.dtype == np.int64
        assert order.shape == (len(blocks),)
        assert order.min() >= 0
        assert order.max() < len(blocks)
    again = visiting_order(len(blocks), block_order, np.random.default_rng(0))
    assert_array_equal(orders[0], again)


def test_visiting_orders_mean_what_they_say():
    blocks = partition(100, 7)
    m = len(blocks)
    rng = np.random.default_rng(0)
    assert_array_equal(visiting_order(len(blocks), "cyclic", rng), np.arange(m))

    permuted = [visiting_order(len(blocks), "permutation", rng) for _ in range(20)]
    assert all(sorted(order) == list(range(m)) for order in permuted)
    assert len({tuple(order) for order in permuted}) == 20

    # With replacement some block is missed in nearly every epoch, yet all are drawn
    # equally often: 2000 times each, and 230 is over five standard deviations.
    drawn = np.array(
        [visiting_order(len(blocks), "replacement", rng) for _ in range(2000)]
    )
    assert np.mean([np.unique(order).size < m for order in drawn]) > 0.99
    assert np.all(np.abs(np.bincount(drawn.ravel(), minlength=m) - 2000) < 230)


def test_blocks_are_frozen():
    with pytest.raises(AttributeError, match="rows"):
        partition(10, 5).rows = np.arange(3)
