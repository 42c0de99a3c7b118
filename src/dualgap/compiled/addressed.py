"""A record of arrays as one address: loops hand on one number where a tuple of 17 arrays is 180 arguments.

The table behind the address holds, array by array, where the numbers are and the shape. It does not change
while a loop runs, and LLVM is told so: nothing is read twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox
from numpy.typing import NDArray

WORD: Any = ir.IntType(64)
KINDS: dict[Any, Handle] = {}  # by what records look like


class Addressed:
    """Base of dataclasses whose fields are C-contiguous arrays, or tuples of them and of flags."""

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """What compiled loops read."""
        return np.array(_words([getattr(self, field.name) for field in fields(self)]), np.int64)  # type: ignore[arg-type]

    @cached_property
    def address(self) -> int:
        """Where it is; valid as long as the record is."""
        return int(self.table.ctypes.data)

    @cached_property
    def kind(self) -> Handle:
        """Its type to the compiler."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        looks = type(self), _looks(values.values())
        if looks not in KINDS:  # numba takes 20 microseconds for each array
            KINDS[looks] = Handle(
                type(self).__name__, tuple((name, typeof(value)) for name, value in values.items())
            )
        return KINDS[looks]


def _looks(values: Iterable[Any]) -> tuple[Any, ...]:
    """What tells the types of records of one class apart."""
    return tuple(
        _looks(value) if isinstance(value, tuple) else (value.dtype.char, value.ndim, value.flags.writeable)
        for value in values
        if isinstance(value, np.ndarray | tuple)
    )


def _words(values: Any) -> list[int]:
    found: list[int] = []
    for value in values:
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous, "only arrays in one piece have an address"
            found += [value.ctypes.data, *value.shape]
        else:
            found += _words(value) if isinstance(value, tuple) else [int(value)]
    return found


class Handle(types.Type):
    """The type of an address: what is behind it, and at which word of the table."""

    def __init__(self, name: str, members: tuple[tuple[str, Any], ...]) -> None:
        self.members: dict[str, tuple[Any, int]] = {}
        at = 0
        for member, kind in members:
            self.members[member] = (kind, at)
            at += _width(kind)
        super().__init__(name=f"{name}_{hashlib.sha256(repr(members).encode()).hexdigest()[:8]}")


def _width(kind: Any) -> int:
    if isinstance(kind, types.Array):
        return 1 + int(kind.ndim)
    return sum(_width(part) for part in kind.types) if isinstance(kind, types.NamedTuple) else 1


register_model(Handle)(models.OpaqueModel)


@typeof_impl.register(Addressed)
def _typeof(record: Addressed, context: Any) -> Handle:
    return record.kind


@unbox(Handle)
def _unbox(kind: Handle, record: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(record, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, cgutils.voidptr_t))


@infer_getattr
class _Members(AttributeTemplate):
    key = Handle

    def generic_resolve(self, kind: Handle, name: str) -> Any:
        return kind.members[name][0] if name in kind.members else None


@lower_getattr_generic(Handle)
def _member(context: Any, builder: Any, kind: Handle, value: Any, name: str) -> Any:
    return _read(context, builder, *kind.members[name], builder.bitcast(value, WORD.as_pointer()))


def _read(context: Any, builder: Any, kind: Any, at: int, table: Any) -> Any:
    """The array, the tuple or the flag at a word of the table."""
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, [_word(builder, table, at + k) for k in range(1 + kind.ndim)])
    if isinstance(kind, types.NamedTuple):
        parts = []
        for part in kind.types:
            parts.append(_read(context, builder, part, at, table))
            at += _width(part)
        return context.make_tuple(builder, kind, parts)
    return context.cast(builder, _word(builder, table, at), types.int64, kind)


def _word(builder: Any, table: Any, at: int) -> Any:
    value = builder.load(builder.gep(table, [WORD(at)]))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _array(context: Any, builder: Any, kind: Any, words: list[Any]) -> Any:
    """Of the first word, where the numbers are, and the shape; put together without a place in memory."""
    model, number = context.data_model_manager[kind], context.get_data_type(kind.dtype)
    place, shape, step = model.get_field_position, words[1:], WORD(context.get_abi_sizeof(number))
    made = cgutils.get_null_value(model.get_value_type())  # no owner: the record outlives the loop
    made = builder.insert_value(made, step, place("itemsize"))
    made = builder.insert_value(made, builder.inttoptr(words[0], number.as_pointer()), place("data"))
    for k in reversed(range(len(shape))):
        made = builder.insert_value(made, shape[k], (place("shape"), k))
        made = builder.insert_value(made, step, (place("strides"), k))
        step = builder.mul(step, shape[k]) if k else step
    count = shape[0]
    for length in shape[1:]:
        count = builder.mul(count, length)
    return builder.insert_value(made, count, place("nitems"))
