# SPDX-License-Identifier: Apache-2.0
# Updates a BPF map without pause: while the kernel is inside such a call it skips sampling programs on that CPU. Needs root.
import ctypes
import struct

SYS_BPF, BPF_MAP_CREATE, BPF_MAP_UPDATE_ELEM, BPF_MAP_TYPE_HASH = 321, 0, 2, 1
libc = ctypes.CDLL(None, use_errno=True)


def attributes(packed):
    return ctypes.create_string_buffer(packed.ljust(128, b"\0"), 128)


fd = libc.syscall(SYS_BPF, BPF_MAP_CREATE, attributes(struct.pack("IIII", BPF_MAP_TYPE_HASH, 4, 8, 1024)), 128)
assert fd >= 0, "cannot create a map"
key, value = ctypes.c_uint32(7), ctypes.c_uint64(1)
update = attributes(struct.pack("IIQQQ", fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0))
print("hammering", flush=True)
while True:  # EBUSY now and then, when a sample came while the bucket was locked
    libc.syscall(SYS_BPF, BPF_MAP_UPDATE_ELEM, update, 128)
