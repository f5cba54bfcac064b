"""Reading and writing memory by address inside kernels.

A join touches a number of relations that is known only at run time. Passing their arrays to a kernel as such would compile
one kernel per number and kind of arrays; passing addresses lets one compiled kernel serve every rule. The caller keeps the
arrays alive, and returns new addresses whenever an array has grown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


def address(array: np.ndarray[Any, Any]) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


def _intrinsic(function: Callable[..., Any]) -> Any:
    """Kernels call it with its own arguments, without the typing context that mypy sees."""
    return intrinsic(function)


def _loader(number_type: Any, ir_type: ir.Type, *, at_byte: bool = False) -> Any:
    def load(context: Any, base: Any, index: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            if at_byte:
                place = builder.add(arguments[0], arguments[1])
                return builder.load(builder.inttoptr(place, ir_type.as_pointer()), align=1)
            pointer = builder.inttoptr(arguments[0], ir_type.as_pointer())
            return builder.load(builder.gep(pointer, [arguments[1]]))

        return number_type(types.uint64, types.uint64), generate

    return _intrinsic(load)


def _storer(number_type: Any, ir_type: ir.Type) -> Any:
    def store(context: Any, base: Any, index: Any, value: Any) -> Any:
        def generate(target: Any, builder: Any, __: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir_type.as_pointer())
            builder.store(arguments[2], builder.gep(pointer, [arguments[1]]))
            return target.get_dummy_value()

        return types.void(types.uint64, types.uint64, number_type), generate

    return _intrinsic(store)


load_u8 = _loader(types.uint8, ir.IntType(8))
load_u32 = _loader(types.uint32, ir.IntType(32))
load_u64 = _loader(types.uint64, ir.IntType(64))
load_u64_at_byte = _loader(types.uint64, ir.IntType(64), at_byte=True)
load_f64 = _loader(types.float64, ir.DoubleType())
store_u8 = _storer(types.uint8, ir.IntType(8))
store_u32 = _storer(types.uint32, ir.IntType(32))
store_u64 = _storer(types.uint64, ir.IntType(64))


def _compare_and_swap(context: Any, base: Any, index: Any, expected: Any, value: Any) -> Any:
    """Writes a word if it is still the expected one; gives what was there, in one step that no other thread can divide."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        pointer = builder.gep(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), [arguments[1]])
        return builder.extract_value(builder.cmpxchg(pointer, arguments[2], arguments[3], "monotonic"), 0)

    return types.uint64(types.uint64, types.uint64, types.uint64, types.uint64), generate


def _updater(operation: str) -> Any:
    """A word is changed and its old value given, in one step that no other thread can divide."""

    def update(context: Any, base: Any, index: Any, value: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            pointer = builder.gep(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), [arguments[1]])
            return builder.atomic_rmw(operation, pointer, arguments[2], "monotonic")

        return types.uint64(types.uint64, types.uint64, types.uint64), generate

    return _intrinsic(update)


swap_u64: Any = _intrinsic(_compare_and_swap)
add_u64 = _updater("add")
or_u64 = _updater("or")


def _prefetch(context: Any, base: Any, index: Any) -> Any:
    """Asks for the cache line of a word that will be needed soon: a hash table is larger than any cache."""

    def generate(target: Any, builder: Any, __: Any, arguments: Any) -> Any:
        byte_pointer = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        place = builder.bitcast(builder.gep(pointer, [arguments[1]]), byte_pointer)
        signature = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte_pointer], signature)
        builder.call(function, [place, ir.Constant(word, 1), ir.Constant(word, 3), ir.Constant(word, 1)])
        return target.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


prefetch_u64: Any = _intrinsic(_prefetch)


@njit(inline="always")
def field(fields: Any, index: Any) -> Any:
    return load_u64(fields, np.uint64(index))


@njit(inline="always")
def register(fields: Any, index: Any, registers: Any) -> Any:
    """The value of the register whose number stands in a field."""
    return load_u32(registers, load_u64(fields, np.uint64(index)))
