"""sinks: several at once, counting, keeping."""

import pytest

from caveat.measure import Counting, Kept, Sink, Tee
from tests.measure.samples import samples

(BATCH,) = samples([0, 1, 2], 0.5, error_class=[None, "timeout", "timeout"]).to_batches()


class Broken:
    """A sink whose close fails."""

    def take(self, batch):
        """Take nothing."""

    def close(self):
        """Fail."""
        raise OSError("no disk")


def test_a_tee_hands_every_batch_to_each():
    """And closes each."""
    counting, kept = Counting(), Kept()
    tee: Sink = Tee(counting, kept)
    tee.take(BATCH)
    tee.take(BATCH)
    tee.close()
    assert (counting.requests, counting.failures, counting.closed) == (6, {"timeout": 4}, True)
    assert kept.table().num_rows == 6


def test_a_tee_closes_all_before_it_raises():
    """A broken sink does not cost the others their end."""
    counting = Counting()
    with pytest.raises(OSError, match="no disk"):
        Tee(Broken(), counting).close()
    assert counting.closed


def test_kept_samples_are_a_table_at_any_time():
    """Also before the first row."""
    kept = Kept()
    assert kept.table().num_rows == 0
    kept.take(BATCH)
    assert kept.table().column("error_class").to_pylist() == [None, "timeout", "timeout"]
