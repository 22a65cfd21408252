"""The linker: one relocatable WebAssembly object, as LLVM writes it, becomes a module.

The object is complete: LLVM has linked and optimised all code before, so what is left is to place the data
in memory and to write its addresses into the code. A general linker (``wasm-ld``) would do it as well; the
package on PyPI that contains it takes 400 MB. Formats: the WebAssembly core specification, chapter 5, and
"WebAssembly Object File Linking" of the tool-conventions repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

STACK_SIZE: Final = 1 << 16  # the stack lies at the bottom of the memory, so that an overflow traps
PAGE: Final = 1 << 16

# Sections, in the order in which a module has them.
CUSTOM, TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, CODE, DATA, DATA_COUNT = range(
    13
)
_MAGIC: Final = b"\0asm\1\0\0\0"

# Kinds of imports and exports.
_FUNCTION, _TABLE, _MEMORY, _GLOBAL = range(4)

# Relocations of LLVM for code without pointers to functions.
_FUNCTION_INDEX, _MEMORY_LEB, _MEMORY_SLEB, _MEMORY_I32, _TYPE_INDEX, _GLOBAL_INDEX = 0, 3, 4, 5, 6, 7
_WITH_ADDEND: Final = (_MEMORY_LEB, _MEMORY_SLEB, _MEMORY_I32)
_NAMES: Final = {1: "a pointer to a function", 2: "a pointer to a function in data"}

# The symbol table of an object.
_SYMBOLS, _SEGMENTS = 8, 5
_FUNCTION_SYMBOL, _DATA_SYMBOL = 0, 1
_UNDEFINED, _EXPLICIT_NAME = 0x10, 0x40

_I32, _I32_CONST, _END = 0x7F, 0x41, 0x0B


class LinkError(ValueError):
    """The object contains something that this linker does not know."""


class Symbol(NamedTuple):
    """An entry of an object's symbol table.

    Attributes:
        kind: of the symbol.
        name: ``""`` for undefined ones.
        number: of the function, global or data segment; -1 for undefined data.
        offset: in the data segment.
    """

    kind: int
    name: str
    number: int
    offset: int


class Relocation(NamedTuple):
    """A place in a section whose number the linker writes.

    Attributes:
        kind: one of the relocations above.
        offset: from the start of the section's content.
        symbol: index in the symbol table (of a type for `_TYPE_INDEX`).
        addend: added to an address.
    """

    kind: int
    offset: int
    symbol: int
    addend: int


class Reader:
    """Numbers and names from bytes, one after the other."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes are read."""
        return self.at >= len(self.data)

    def byte(self) -> int:
        """The next byte."""
        self.at += 1
        return self.data[self.at - 1]

    def bytes(self, size: int) -> bytes:
        """So many bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def unsigned(self) -> int:
        """A number in LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        """A signed number in LEB128."""
        start = self.at
        value = self.unsigned()
        num_bits = 7 * (self.at - start)
        return value - (value >> (num_bits - 1) << num_bits)

    def name(self) -> str:
        """A text."""
        return self.bytes(self.unsigned()).decode()


def unsigned(value: int) -> bytes:
    """A number in LEB128, as short as possible."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> bytes:
    """A signed number in LEB128, as short as possible."""
    out = bytearray()
    while not -64 <= value < 64:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value & 127)
    return bytes(out)


def _vector(items: Sequence[bytes]) -> bytes:
    return unsigned(len(items)) + b"".join(items)


def _text(name: str) -> bytes:
    return unsigned(len(name.encode())) + name.encode()


def _sections(data: bytes) -> Iterator[tuple[int, str, bytes]]:
    """``(number, name, content)`` of each section; the name of custom ones is cut off their content."""
    if not data.startswith(_MAGIC):
        raise LinkError("not a WebAssembly object")
    reader = Reader(data, len(_MAGIC))
    while not reader.is_at_end:
        number = reader.byte()
        content = reader.bytes(reader.unsigned())
        name = ""
        if number == CUSTOM:
            custom = Reader(content)
            name = custom.name()
            content = content[custom.at :]
        yield number, name, content


class WasmObject:
    """A relocatable object.

    Attributes:
        types: content of the section of types.
        functions: content of the section of functions.
        code: content of the section of code.
        segments: content of each data segment.
        alignments: of each data segment, as a power of two.
        symbols: the symbol table.
        relocations: of the sections ``"CODE"`` and ``"DATA"``, in ascending order of their offsets.
        data_offsets: where each segment's content begins in the section of data.
    """

    def __init__(self, data: bytes) -> None:
        self.types = self.functions = self.code = b""
        self.segments: list[bytes] = []
        self.data_offsets: list[int] = []
        self.alignments: list[int] = []
        self.symbols: list[Symbol] = []
        self.relocations: dict[str, list[Relocation]] = {"CODE": [], "DATA": []}
        for number, name, content in _sections(data):
            if number == TYPE:
                self.types = content
            elif number == IMPORT:
                self._check_imports(Reader(content))
            elif number == FUNCTION:
                self.functions = content
            elif number == CODE:
                self.code = content
            elif number == DATA:
                self._read_segments(Reader(content))
            elif name == "linking":
                self._read_linking(Reader(content))
            elif name in ("reloc.CODE", "reloc.DATA"):
                self.relocations[name.removeprefix("reloc.")] = list(_relocations(Reader(content)))
            elif number not in (CUSTOM, DATA_COUNT):
                raise LinkError(f"section {number} in an object")

    def _check_imports(self, reader: Reader) -> None:
        """Accept the memory and the stack pointer, which the module will define itself."""
        missing = []
        num_globals = 0
        for _ in range(reader.unsigned()):
            module, name, kind = reader.name(), reader.name(), reader.byte()
            if kind == _FUNCTION:
                reader.unsigned()
                missing.append(name)
            elif kind == _TABLE:
                reader.byte()
                _read_limits(reader)
            elif kind == _MEMORY:
                _read_limits(reader)
            elif kind == _GLOBAL:
                reader.bytes(2)
                num_globals += 1
                if name != "__stack_pointer" or num_globals > 1:
                    missing.append(name)
            else:
                missing.append(f"{module}.{name}")
        if missing:
            raise LinkError(f"the code needs what no kernel may need: {', '.join(missing)}")

    def _read_segments(self, reader: Reader) -> None:
        for _ in range(reader.unsigned()):
            if reader.unsigned() != 0 or reader.byte() != _I32_CONST:
                raise LinkError("a data segment of an unknown kind")
            reader.signed()
            if reader.byte() != _END:
                raise LinkError("a data segment of an unknown kind")
            size = reader.unsigned()
            self.data_offsets.append(reader.at)
            self.segments.append(reader.bytes(size))

    def _read_linking(self, reader: Reader) -> None:
        if (version := reader.unsigned()) != 2:
            raise LinkError(f"version {version} of the symbol table, expected 2")
        while not reader.is_at_end:
            kind = reader.byte()
            part = Reader(reader.bytes(reader.unsigned()))
            if kind == _SYMBOLS:
                self.symbols = [_symbol(part) for _ in range(part.unsigned())]
            elif kind == _SEGMENTS:
                for _ in range(part.unsigned()):
                    part.name()
                    self.alignments.append(1 << part.unsigned())
                    part.unsigned()  # flags


def _read_limits(reader: Reader) -> None:
    flags = reader.byte()
    reader.unsigned()
    if flags & 1:
        reader.unsigned()


def _symbol(reader: Reader) -> Symbol:
    kind, flags = reader.byte(), reader.unsigned()
    is_undefined = bool(flags & _UNDEFINED)
    if kind == _DATA_SYMBOL:
        name = reader.name()
        if is_undefined:
            return Symbol(kind, name, -1, 0)
        index, offset = reader.unsigned(), reader.unsigned()
        reader.unsigned()  # its size
        return Symbol(kind, name, index, offset)
    index = reader.unsigned()
    if kind == 3:  # a section, which has no name
        return Symbol(kind, "", index, 0)
    has_name = not is_undefined or flags & _EXPLICIT_NAME
    return Symbol(kind, reader.name() if has_name else "", index, 0)


def _relocations(reader: Reader) -> Iterator[Relocation]:
    reader.unsigned()  # which section
    for _ in range(reader.unsigned()):
        kind, offset, symbol = reader.byte(), reader.unsigned(), reader.unsigned()
        if kind not in (_FUNCTION_INDEX, _TYPE_INDEX, _GLOBAL_INDEX, *_WITH_ADDEND):
            raise LinkError(f"the code contains {_NAMES.get(kind, f'relocation {kind}')}")
        yield Relocation(kind, offset, symbol, reader.signed() if kind in _WITH_ADDEND else 0)


def link(data: bytes, exports: Iterable[str]) -> bytes:
    """Link an object to a module that imports nothing.

    The module exports the functions named, its memory as ``memory``, and the address from which on its memory
    is free as the global ``heap``.

    Args:
        data: an object that LLVM wrote for wasm32.
        exports: names of functions in it.

    Raises:
        LinkError: the object calls functions that it does not contain, or contains something unknown.
    """
    read = WasmObject(data)
    addresses, heap = [], STACK_SIZE
    for segment, alignment in zip(read.segments, read.alignments, strict=True):
        heap = -(-heap // alignment) * alignment
        addresses.append(heap)
        heap += len(segment)
    heap = -(-heap // 64) * 64

    def value(relocation: Relocation) -> int:
        if relocation.kind == _TYPE_INDEX:
            return relocation.symbol
        symbol = read.symbols[relocation.symbol]
        if relocation.kind not in _WITH_ADDEND:
            return symbol.number
        if symbol.number < 0:
            raise LinkError(f"the code needs the data {symbol.name}")
        return addresses[symbol.number] + symbol.offset + relocation.addend

    segments = [bytearray(segment) for segment in read.segments]
    for relocation in read.relocations["DATA"]:
        index = max(i for i, start in enumerate(read.data_offsets) if start <= relocation.offset)
        at = relocation.offset - read.data_offsets[index]
        segments[index][at : at + 4] = value(relocation).to_bytes(4, "little")
    functions = {s.name: s.number for s in read.symbols if s.kind == _FUNCTION_SYMBOL}
    exported = [_text(name) + bytes([_FUNCTION]) + unsigned(functions[name]) for name in exports]
    exported += [_text("memory") + bytes([_MEMORY, 0]), _text("heap") + bytes([_GLOBAL, 1])]
    placed = [
        b"\0" + bytes([_I32_CONST]) + signed(address) + bytes([_END]) + unsigned(len(segment)) + segment
        for address, segment in zip(addresses, segments, strict=True)
        if any(segment)  # memory begins as zeros
    ]
    sections = [
        (TYPE, read.types),
        (FUNCTION, read.functions),
        (MEMORY, _vector([b"\0" + unsigned(-(-heap // PAGE))])),
        (GLOBAL, _vector([_global(STACK_SIZE, is_mutable=True), _global(heap, is_mutable=False)])),
        (EXPORT, _vector(exported)),
        (CODE, _linked_code(read.code, read.relocations["CODE"], value)),
        (DATA, _vector(placed)),
    ]
    module = [bytes([number]) + unsigned(len(content)) + content for number, content in sections]
    return _MAGIC + b"".join(module)


def _global(value: int, *, is_mutable: bool) -> bytes:
    return bytes([_I32, is_mutable, _I32_CONST]) + signed(value) + bytes([_END])


def _linked_code(code: bytes, relocations: Sequence[Relocation], value: Callable[[Relocation], int]) -> bytes:
    """The section of code with the numbers written in, each as short as possible."""
    reader = Reader(code)
    bodies = []
    todo = iter([*relocations, None])
    next_one = next(todo)
    for _ in range(reader.unsigned()):
        size = reader.unsigned()
        end = reader.at + size
        body = bytearray()
        while next_one is not None and next_one.offset < end:
            body += reader.bytes(next_one.offset - reader.at)
            number = value(next_one)
            if next_one.kind == _MEMORY_I32:
                raise LinkError("an address of four bytes in code")
            reader.bytes(5)  # LLVM leaves room for the longest number
            body += signed(number) if next_one.kind == _MEMORY_SLEB else unsigned(number)
            next_one = next(todo)
        body += reader.bytes(end - reader.at)
        bodies.append(unsigned(len(body)) + body)
    return _vector(bodies)
