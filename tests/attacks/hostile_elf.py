# SPDX-License-Identifier: Apache-2.0
# hostile_elf.py KIND PROGRAM OUTPUT: the program, which runs as before, with a section table that costs who reads it.
#   notes        100,000 sections that share 24 MB of empty notes
#   names        100,000 sections whose names begin in one text of 32 MB
#   directories  a line table with 1,000,000 directories, each the same text of 32 MB
#   compressed   ten DWARF sections, each the same 900 MiB of zeros, compressed
#   symbols      2,000,000 symbols whose names begin in one text of 32 MB
#   link GIB     a debug link to a program that is followed by that many GiB of nothing
#   nops         the CFI of hot() is a hole of 1.9 GB: DW_CFA_nop
#   rows         an object file to link PROGRAM (an object file) with: hot() has 6,000,000 rows of CFI
import struct
import subprocess
import sys
import zlib

kind, source, output = sys.argv[1:4]
image = bytearray(open(source, 'rb').read())


def append(data):
    image.extend(bytes(-len(image) % 16))
    image.extend(data)
    return len(image) - len(data), len(data)


def section(name, kind, place, address=0, flags=0, link=0, entry=0):
    return struct.pack('<IIQQQQIIQQ', name, kind, flags, address, place[0], place[1], link, 0, 1, entry)


def write(sections, names):
    count = len(sections)
    if count >= 0xff00: sections[0] = section(0, 0, (0, count))
    table, _ = append(b''.join(sections))
    struct.pack_into('<Q', image, 0x28, table)
    struct.pack_into('<HHH', image, 0x3a, 64, count if count < 0xff00 else 0, names)
    open(output, 'wb').write(image)


def write_named(contents, flags=0):
    table = b'\0' + b''.join(name.encode() + b'\0' for name in contents)
    sections = [section(0, 0, (0, 0)), section(0, 3, append(table))]
    for name, place in contents.items(): sections.append(section(table.index(b'\0' + name.encode() + b'\0') + 1, 1, place, flags=flags))
    write(sections, 1)


def address_of(symbol):
    lines = subprocess.check_output(['nm', source], text=True).splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.endswith(' ' + symbol))


if kind == 'rows':
    count = 6000000
    cie = struct.pack('<IB', 0, 1) + b'zR\0' + bytes([1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1])
    program = bytes([0x41, 0x83, 2, 0x41, 0x83, 3]) * (count // 2)
    for name, data in {'cie': cie + bytes(-len(cie) % 4), 'program': program}.items(): open(f'{output}.{name}', 'wb').write(data)
    open(output + '.s', 'w').write(f'''.globl hot
.type hot, @function
hot: .fill {count}, 1, 0x90
ret
.size hot, . - hot
.section .eh_frame, "a", @unwind
0: .long 2f - 1f
1: .incbin "{output}.cie"
2: .long 4f - 3f
3: .long . - 0b
.long hot - .
.long {count + 1}
.byte 0
.incbin "{output}.program"
.balign 4
4:
.section .note.GNU-stack, "", @progbits
''')
    subprocess.check_call(['cc', '-no-pie', '-o', output, source, output + '.s'])
elif kind == 'nops':
    table, = struct.unpack_from('<Q', image, 0x28)
    count, names = struct.unpack_from('<HH', image, 0x3c)
    texts, = struct.unpack_from('<Q', image, table + 64 * names + 24)
    cie = struct.pack('<IB', 0, 1) + b'zR\0' + bytes([1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1])
    cie += bytes(-len(cie) % 4)
    size = 1900 << 20
    fde = struct.pack('<IIQQB', size, len(cie) + 8, address_of('hot'), 16, 0)
    begin, length = append(struct.pack('<I', len(cie)) + cie + fde)
    end = begin + 4 + len(cie) + 4 + size
    for header in range(table, table + 64 * count, 64):
        name, = struct.unpack_from('<I', image, header)
        if image.startswith(b'.eh_frame\0', texts + name): struct.pack_into('<QQ', image, header + 24, begin, end - begin)
        if image.startswith(b'.eh_frame_hdr\0', texts + name): struct.pack_into('<I', image, header + 4, 0)
    segments, = struct.unpack_from('<Q', image, 0x20)
    for header in range(segments, segments + 56 * struct.unpack_from('<H', image, 0x38)[0], 56):
        if struct.unpack_from('<I', image, header)[0] == 0x6474e550: struct.pack_into('<I', image, header, 0)  # PT_GNU_EH_FRAME
    with open(output, 'wb') as sparse:
        sparse.write(image)
        sparse.truncate(end)
elif kind == 'notes':
    write([section(0, 0, (0, 0))] + [section(0, 7, append(bytes(24 << 20)))] * 99999, 0)
elif kind == 'names':
    text = append(b'x' * (32 << 20))
    write([section(0, 0, (0, 0)), section(1, 3, text)] + [section(2, 1, (text[0], 16))] * 99998, 1)
elif kind == 'directories':
    unit = struct.pack('<HBBIBIQQ', 5, 1, 8, 0, 1, 0, address_of('hot'), 200)
    header = struct.pack('<BBBbBB', 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    header += bytes([1, 1, 0x1f, 0xc0, 0x84, 0x3d]) + bytes(4 * 1000000) + bytes([1, 1, 0x1f, 1]) + bytes(4)
    lines = struct.pack('<HBBI', 5, 8, 0, len(header)) + header + b'\0\x09\x02' + struct.pack('<Q', address_of('hot')) + b'\x01\x02\xc8\x01\0\x01\x01'
    write_named({'.debug_abbrev': append(bytes([1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0, 0])),
                 '.debug_info': append(struct.pack('<I', len(unit)) + unit),
                 '.debug_line': append(struct.pack('<I', len(lines)) + lines),
                 '.debug_line_str': append(b'x' * (32 << 20) + b'\0')})
elif kind == 'compressed':
    squeezer = zlib.compressobj(9)
    data = b''.join(squeezer.compress(bytes(1 << 20)) for _ in range(900)) + squeezer.flush()
    place = append(struct.pack('<IIQQ', 1, 0, 900 << 20, 1) + data)
    names = 'info abbrev str line_str str_offsets addr ranges rnglists line aranges'.split()
    write_named({'.debug_' + name: place for name in names}, flags=0x800)
elif kind == 'symbols':
    hot = address_of('hot')
    text = append(b'\0.symtab\0' + b'_' * (32 << 20) + b'\0')
    table = append(b''.join(struct.pack('<IBBHQQ', 9 + i % 64, 0x12, 0, 1, hot + i % 16, 4) for i in range(2000000)))
    write([section(0, 0, (0, 0)), section(0, 1, (hot & ~0xfff, 0x1000), hot & ~0xfff, 6), section(1, 2, table, link=3, entry=24), section(0, 3, text)], 3)
elif kind == 'link':
    with open(output + '.debug', 'wb') as sparse:
        sparse.write(image)
        sparse.truncate(int(sys.argv[4]) << 30)
    name = (output + '.debug').rsplit('/', 1)[-1].encode() + b'\0'
    write_named({'.gnu_debuglink': append(name + bytes(-len(name) % 4) + struct.pack('<I', 1))})
