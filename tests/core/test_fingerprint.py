"""The digest by which records know a method."""

import dataclasses

from l2e.core.fingerprint import LATER, fingerprint


def method(*fields) -> type:
    return dataclasses.make_dataclass("Method", fields)


def test_a_field_that_came_later_counts_only_where_it_is_not_the_default() -> None:
    before = method(("size", int))
    after = method(("size", int), ("multiple", int, dataclasses.field(default=1, metadata=LATER)))
    always = method(("size", int), ("multiple", int, dataclasses.field(default=1)))
    assert fingerprint(before(4)) == fingerprint(after(4))
    assert len({fingerprint(one) for one in (before(4), before(5), after(4, 8), always(4))}) == 4
