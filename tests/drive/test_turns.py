"""Parts of a run in turn, in the time that all of them share."""

from __future__ import annotations

import time

from dualgap.drive.limits import Limits
from dualgap.drive.turns import in_turn


def test_all_of_them_where_there_is_time() -> None:
    assert list(in_turn([3, 2, 1], Limits())) == [3, 2, 1]
    assert list(in_turn([3, 2, 1], Limits(seconds=60.0).shared())) == [3, 2, 1]
    assert list(in_turn([3, 2, 1], Limits(seconds=0.0))) == [3, 2, 1], "seconds of each, not of all"


def test_at_least_one_where_there_is_none() -> None:
    assert list(in_turn([3, 2, 1], Limits(seconds=0.0).shared())) == [3]


def test_a_part_has_its_share_of_what_is_left() -> None:
    whole = Limits(seconds=8.0).shared()
    share = whole.part(4)
    assert whole.until is not None and share.until is not None and share.seconds is not None
    assert 1.5 < share.seconds <= 2.0 and share.until - time.perf_counter() <= 2.0
    assert not share.spent and Limits(seconds=1.0).part(4) == Limits(seconds=1.0)
