"""Whether a run's start and stop agree with the records around them.

A stamp that was written by hand, or damaged, is not seen in the stamp itself: only the records
before and after it, which the same program wrote in the same second or minute, give it away.
"""

from __future__ import annotations

from gpurank.logs.records import Records

_NEIGHBOURS = 3
# In published logs nothing stands between: a stamp is in order to the millisecond, or minutes out;
# the nearest record is never more than 20 s away.
_DISORDER_MS = 10.0
_GAP_MS = 60_000.0
# Stamps this small are placeholders (0, 123), not times.
_PLACEHOLDER_MS = 1e6


def is_out_of_line(records: Records, number: int) -> bool:
    """Whether a record's time contradicts its neighbours' in the file.

    It does where it is more than 10 ms earlier than the record before it or than all of the
    nearest before it, or later than the one after it, or more than a minute away from all of them.
    Evaluations before it say nothing: some are made after the run and logged before its run_stop.
    """
    time_ms = records.time_ms[number]
    if time_ms is None:
        return False
    before = range(max(0, number - _NEIGHBOURS), number)
    earlier = _times(records, before)
    later = _times(records, range(number + 1, min(len(records), number + 1 + _NEIGHBOURS)))
    if later and time_ms > later[0] + _DISORDER_MS:
        return True
    only_evaluations = all(_is_evaluation(records, n) for n in before)
    if earlier and not only_evaluations and time_ms < min(earlier) - _DISORDER_MS:
        return True
    is_after_one = bool(before) and _is_evaluation(records, before[-1])
    if earlier and not is_after_one and time_ms < earlier[-1] - _DISORDER_MS:
        return True
    if only_evaluations and earlier and time_ms < min(earlier):
        return False
    both = earlier + later
    return bool(both) and min(abs(time_ms - other) for other in both) > _GAP_MS


def _is_evaluation(records: Records, number: int) -> bool:
    return (records.key[number] or "").startswith("eval")


def _times(records: Records, numbers: range) -> list[float]:
    times = (records.time_ms[number] for number in numbers)
    return [time for time in times if time is not None and time > _PLACEHOLDER_MS]
