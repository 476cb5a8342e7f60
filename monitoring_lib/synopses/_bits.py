"""Bit tricks that Numba has no name for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic


def _count_trailing_zeros(context: Any, value: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


trailing_zeros: Any = intrinsic(_count_trailing_zeros)
"""How often 2 divides a whole number above 0, in kernels: one instruction."""
