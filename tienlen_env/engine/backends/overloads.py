"""Numba overloads: the bit primitives as LLVM instructions.

Importing this module registers them, so that any compiled function may call those of
`tienlen_env.games.common.bits`.
"""

from __future__ import annotations

import operator
from typing import Any, Final

from llvmlite import binding as llvm, ir
from numba import config, types
from numba.core import cgutils, options
from numba.extending import intrinsic, overload, register_jitable

from tienlen_env.engine.backends.sources import PRIMITIVES
from tienlen_env.games.common import bits
from tienlen_env.games.common.bits import LOWEST_SUIT

_I64 = ir.IntType(64)
# Options that are not public: code that counts no references, and calls that are always inlined.
_OPTIONS: Final = vars(getattr(options, "DefaultOptions", object))
NO_RUNTIME: Final = {"_nrt": False} if "_nrt" in _OPTIONS else {}
INLINE: Final = NO_RUNTIME | ({"forceinline": True} if "forceinline" in _OPTIONS else {})


def _cpu_features() -> dict[str, bool]:
    """The features of the processor that Numba compiles for: this one, unless the user names another."""
    if config.CPU_FEATURES is not None:
        named = [feature.strip() for feature in config.CPU_FEATURES.split(",")]
        return {feature[1:]: feature[0] == "+" for feature in named if feature}
    if config.CPU_NAME is not None:
        return {}
    return dict(llvm.get_host_cpu_features())


_FEATURES = _cpu_features()


def _unary(llvm_name: str) -> Any:
    """An intrinsic ``int64 -> int64`` that is one LLVM bit-counting instruction."""

    @intrinsic
    def count(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            function = getattr(builder, llvm_name)
            return (
                function(args[0])
                if llvm_name == "ctpop"
                else function(args[0], ir.Constant(ir.IntType(1), 1))
            )

        return types.int64(types.int64), codegen

    return count


_ctpop, _cttz, _ctlz = _unary("ctpop"), _unary("cttz"), _unary("ctlz")


@intrinsic
def _lshr(typingctx: Any, x: Any, n: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.lshr(args[0], args[1])

    return types.int64(types.int64, types.int64), codegen


def _expand_bits(builder: Any, word: Any, num_bits: int) -> Any:
    """A vector with a byte of 0 or 1 for each of the low bits of a word."""
    low = word if num_bits == 64 else builder.trunc(word, ir.IntType(num_bits))
    vector = builder.bitcast(low, ir.VectorType(ir.IntType(1), num_bits))
    return builder.zext(vector, ir.VectorType(ir.IntType(8), num_bits))


def _expand_16_bits(builder: Any, word: Any, first: int) -> Any:
    """A vector with a byte of 0 or 1 for each of 16 bits of a word, for processors with vectors of 16 bytes.

    Each byte of the vector gets the byte of the word that has its bit, and tests that bit.
    """
    bytes_type = ir.VectorType(ir.IntType(8), 16)
    both = ir.Constant(ir.VectorType(_I64, 2), ir.Undefined)
    both = builder.insert_element(both, word, ir.Constant(ir.IntType(32), 0))
    all_bytes = builder.bitcast(both, bytes_type)
    sources = [ir.Constant(ir.IntType(32), (first + i) // 8) for i in range(16)]
    indices = ir.Constant(ir.VectorType(ir.IntType(32), 16), sources)
    spread = builder.shuffle_vector(all_bytes, ir.Constant(bytes_type, ir.Undefined), indices)
    tested = builder.and_(spread, ir.Constant(bytes_type, [1 << i % 8 for i in range(16)]))
    is_set = builder.icmp_unsigned("!=", tested, ir.Constant(bytes_type, [0] * 16))
    return builder.zext(is_set, bytes_type)


def _store(num_bits: int) -> Any:
    """An intrinsic that stores the low bits of a word, a byte each, by vectors."""

    @intrinsic
    def store(typingctx: Any, out: Any, start: Any, word: Any) -> Any:
        if not isinstance(out, types.Array) or out.dtype.bitwidth != 8 or out.layout != "C":
            raise TypeError("words are written to contiguous arrays of bytes")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            address = cgutils.gep_inbounds(builder, array.data, args[1])

            def write(vector: Any, at: int) -> None:
                place = cgutils.gep_inbounds(builder, address, at)
                builder.store(vector, builder.bitcast(place, vector.type.as_pointer()), align=1)

            if _FEATURES.get("avx2", False):
                write(_expand_bits(builder, args[2], num_bits), 0)
            else:
                for first in range(0, num_bits, 16):
                    write(_expand_16_bits(builder, args[2], first), first)
            return context.get_dummy_value()

        return types.void(out, types.int64, types.int64), codegen

    return store


_store_word, _store_half = _store(64), _store(32)


def _bmi2(llvm_name: str) -> Any:
    """An intrinsic ``(int64, int64) -> int64`` that is one instruction of x86 BMI2: pdep or pext."""

    @intrinsic
    def move_bits(typingctx: Any, x: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            function_type = ir.FunctionType(_I64, [_I64, _I64])
            function = cgutils.get_or_insert_function(
                builder.module, function_type, f"llvm.x86.bmi.{llvm_name}.64"
            )
            return builder.call(function, args)

        return types.int64(types.int64, types.int64), codegen

    return move_bits


_pdep, _pext = _bmi2("pdep"), _bmi2("pext")

# An overload is a function of the argument types that returns the implementation, with the same signature.
overload(bits.popcount)(lambda x: lambda x: _ctpop(x))
overload(bits.lowest_index)(lambda x: lambda x: _cttz(x))
overload(bits.highest_index)(lambda x: lambda x: 63 - _ctlz(x))
overload(bits.shift_left)(lambda x, n: lambda x, n: x << n)
overload(bits.shift_right)(lambda x, n: lambda x, n: _lshr(x, n))
overload(bits.add)(lambda x, y: lambda x, y: x + y)
if _FEATURES.get("bmi2", False):
    overload(bits.nth_index, target="cpu")(lambda x, n: lambda x, n: _cttz(_pdep(1 << n, x)))
    overload(bits.squeeze, target="cpu")(
        lambda cards, width: lambda cards, width: _pext(cards, LOWEST_SUIT * ((15 << (width - 1)) & 15))
    )

# An output is an array of bytes, or `bits.PackedBits`.
_put_bits = register_jitable(nogil=True, **INLINE)(bits.put_bits)  # without an option it takes no call


def _is_packed(out: Any) -> bool:
    return isinstance(out, types.BaseNamedTuple) and out.instance_class is bits.PackedBits


@overload(bits.as_output, jit_options=INLINE)
def _as_output(row):  # type: ignore[no-untyped-def]
    if row.dtype.bitwidth == 8:
        return lambda row: row
    packed = bits.PackedBits

    def as_output(row):  # type: ignore[no-untyped-def]
        row[row.shape[0] - 1] = 0
        return packed(row)

    return as_output


@overload(operator.setitem, jit_options=INLINE)
def _set_bit(out, i, value):  # type: ignore[no-untyped-def]
    if _is_packed(out):
        return lambda out, i, value: _put_bits(out.words, i, int(value), 1)
    return None


@overload(bits.write_word, jit_options=INLINE)
def _write_word(out, start, word):  # type: ignore[no-untyped-def]
    if _is_packed(out):
        return lambda out, start, word: _put_bits(out.words, start, word, 64)
    return lambda out, start, word: _store_word(out, start, word)


@overload(bits.write_half, jit_options=INLINE)
def _write_half(out, start, word):  # type: ignore[no-untyped-def]
    if _is_packed(out):
        return lambda out, start, word: _put_bits(out.words, start, word, 32)
    return lambda out, start, word: _store_half(out, start, word)


@overload(bits.write_bits, jit_options=INLINE)
def _write_bits(out, start, word, num_bits):  # type: ignore[no-untyped-def]
    if _is_packed(out):

        def put(out, start, word, num_bits):  # type: ignore[no-untyped-def]
            if num_bits > 0:
                _put_bits(out.words, start, word, num_bits)

        return put

    def expand(out, start, word, num_bits):  # type: ignore[no-untyped-def]
        for i in range(num_bits):
            out[start + i] = word >> i & 1

    return expand


REGISTERED: set[Any] = set(PRIMITIVES)  # functions that compiled code of the processor may call
if _FEATURES.get("bmi2", False):
    REGISTERED |= {bits.nth_index, bits.squeeze}
