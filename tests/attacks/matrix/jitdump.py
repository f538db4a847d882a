#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# jitdump.py KIND FILE: a jitdump with line entries of one function: "path", two million that all name the same long path; "entries", eight million of
# the same address; "hole", as many as fit into a hole of 4 GB; a number: the jitdump, which is there, becomes that process's.
import struct
import sys

kind, path = sys.argv[1:3]
BASE = 0x700000000
if kind.isdigit():
    with open(path, 'r+b') as out:
        out.seek(20)
        out.write(struct.pack('<I', int(kind)))
    sys.exit()
with open(path, 'wb') as out:
    def record(tag, body, size): out.write(struct.pack('<IIQ', tag, 16 + size, 1) + body)
    out.write(struct.pack('<IIIIIIQQ', 0x4A695444, 1, 40, 62, 0, 1, 1, 0))
    if kind == 'path':
        body = struct.pack('<QQ', BASE, 2000000) + struct.pack('<QII', BASE, 1, 0) + b'f' * 4095 + b'\0'
        body += b''.join(struct.pack('<QII', BASE + i, i, 0) + b'\xff\0' for i in range(1, 2000000))
        record(2, body, len(body))
    elif kind == 'entries':
        body = struct.pack('<QQ', BASE, 8000000) + (struct.pack('<QII', BASE, 1, 0) + b'\0') * 8000000
        record(2, body, len(body))
    else:
        record(2, struct.pack('<QQ', BASE, 2 ** 64 - 1), 0xfffff000)
        out.seek(0xfffff000 - 16, 1)
    body = struct.pack('<IIQQQQ', 1, 1, BASE, BASE, 2000010, 1) + b'x' * 4095 + b'\0'
    record(0, body, len(body))
