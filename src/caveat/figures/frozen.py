"""A dict that cannot be changed: what frozen records keep their mappings in, so that a cached id stays true."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict in every way but one: changing it is a TypeError. `dict(frozen)` is a copy that may be changed.

    A real dict underneath, because the JSON encoder takes no other mapping and reading must cost nothing.
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("part of a frozen record: change dict(...) of it and make a new record")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[FrozenDict[Any, Any]], tuple[dict[K, V]]]:
        # Pickle and copy would otherwise fill an empty one item by item.
        return type(self), (dict(self),)
