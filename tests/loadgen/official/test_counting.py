"""Counts of what LoadGen has no word for."""

from caveat.loadgen.official import OfficialCounts
from caveat.loadgen.official.counting import Counting, StartSpread


def test_every_end_is_counted_under_its_names():
    """Successes by what the server said of tokens, failures by what ended them."""
    counting = Counting()
    for error, tokens in [("", 5), ("", 1), ("", None), ("timeout", None), ("stalled", None), ("cancelled", None)]:
        counting.issued += 1
        counting.ended(error, tokens)
    assert OfficialCounts(**counting.as_dict()) == OfficialCounts(
        issued=6, completed=3, failed=3, timed_out=2, cancelled=1, without_usage=1, single_token=1
    )


def test_the_zero_of_the_clock_is_as_good_as_the_promptest_issue():
    """One that seems 30 µs early says that the first was 30 µs late."""
    spread = StartSpread()
    assert spread.seconds() is None
    for late_ns in (0, 500, -30_000, 80_000):
        spread.add(late_ns)
    assert spread.seconds() == 30e-6
