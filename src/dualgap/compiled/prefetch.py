"""Asking the memory for what will be read soon: the processor goes on, and need not wait when it is."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dualgap.arrays import Vector
from dualgap.compiled.mechanism import compiled

LINE = 64  # bytes that come together


def _asking(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for array[index]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte.type,), kind)
        builder.call(function, [byte, number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


_ask: Any = intrinsic(_asking)


@compiled
def fetch(array: Vector, first: int, last: int) -> None:
    """Ask for array[first:last]."""
    for place in range(first, last, LINE // array.itemsize):
        _ask(array, place)
