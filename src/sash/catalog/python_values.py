"""Python values before Arrow sees them: what would bring it down is turned away or unwrapped.

Arrow aborts on a MAP with a missing entry, and crashes where it must infer a type for NumPy
datetimes beside other NumPy scalars; neither can be caught, so both are looked for here. So are
fractions for integers within nested values, which it would cut off.
"""

from __future__ import annotations

__all__ = ["mixes_datetimes", "unfit_within", "unwrapped", "without_missing"]

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as types

_DATETIMES = (np.datetime64, np.timedelta64)
_CONTAINERS = (list, tuple, dict, np.ndarray)


def mixes_datetimes(values: Sequence[object]) -> bool:
    """Whether NumPy datetimes stand beside values of other types, NULLs aside.

    >>> mixes_datetimes([np.datetime64("2024-01-01"), np.int64(1)]), mixes_datetimes([1, None])
    (True, False)
    """
    kinds = set(map(type, values)) - {type(None)}
    return len(kinds) > 1 and any(issubclass(kind, _DATETIMES) for kind in kinds)


def without_missing(values: Sequence[object]) -> Sequence[object]:
    """The values with pandas' and NumPy's own words for NULL, NA and NaT, as None: rows of a frame have them.

    >>> import pandas
    >>> without_missing([1, pandas.NA, pandas.NaT, np.datetime64("NaT")])
    [1, None, None, None]
    """
    if any(issubclass(kind, np.datetime64) for kind in set(map(type, values))):
        values = [None if isinstance(value, np.datetime64) and np.isnat(value) else value for value in values]
    missing = tuple(kind for kind in set(map(type, values)) if kind.__name__ in ("NAType", "NaTType"))
    return [None if isinstance(value, missing) else value for value in values] if missing else values


def unwrapped(values: Sequence[object]) -> Sequence[object]:
    """The values with NumPy scalars inside lists and dicts made Python's; others are left alone.

    >>> unwrapped([[np.int64(1), np.datetime64("2024-01-01", "us")]])
    [[1, datetime.datetime(2024, 1, 1, 0, 0)]]
    """
    if any(issubclass(kind, _CONTAINERS) for kind in set(map(type, values))):
        return [_inside(value) if isinstance(value, _CONTAINERS) else value for value in values]
    return values


def _inside(value: object) -> object:
    if isinstance(value, np.ndarray):
        return [_inside(each) for each in value]
    if isinstance(value, dict):
        return {key: _inside(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_inside, value)) if type(value) in (list, tuple) else value
    if isinstance(value, np.datetime64):
        exact = value.astype("datetime64[us]")
        # Text for what microseconds cannot say: it does not become a timestamp without loss.
        return exact.item() if np.isnat(value) or exact == value else str(value)
    return value.item() if isinstance(value, np.generic) else value


def unfit_within(value: object, target: pa.DataType) -> bool:
    """Whether a value for a nested type has a MAP in it with a missing entry, or a fraction for an integer.

    >>> unfit_within([None], pa.map_(pa.string(), pa.int32())), unfit_within([1.5], pa.list_(pa.int32()))
    (True, True)
    """
    if value is None:
        return False
    if not types.is_nested(target):
        fraction = isinstance(value, (float, np.floating)) and not float(value).is_integer()
        return fraction and types.is_integer(target)
    if types.is_map(target):
        if isinstance(value, Mapping):
            return any(unfit_within(each, target.item_type) for each in value.values())
        pairs = value if isinstance(value, (list, tuple, np.ndarray)) else ()
        return any(pair is None or _broken_pair(pair, target) for pair in pairs)
    if types.is_struct(target):
        fields = value if isinstance(value, Mapping) else {}
        return any(unfit_within(fields.get(field.name), field.type) for field in target)
    items = value if isinstance(value, (list, tuple, np.ndarray)) else ()
    return any(unfit_within(each, target.value_type) for each in items)


def _broken_pair(pair: object, target: pa.DataType) -> bool:
    if isinstance(pair, Mapping):
        return unfit_within(pair.get("value"), target.item_type)
    return isinstance(pair, tuple) and len(pair) == 2 and unfit_within(pair[1], target.item_type)
