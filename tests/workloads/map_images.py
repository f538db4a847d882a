# SPDX-License-Identifier: Apache-2.0
# map_images.py N SECONDS [largest]: maps the code of N distinct libraries of the machine, by name or the largest, says how many, and works.
import glob, mmap, os, struct, sys, time

maps, seen = [], set()
paths = sorted(p for p in glob.glob("/usr/lib/x86_64-linux-gnu/**/*.so*", recursive=True) if os.path.isfile(p))
if sys.argv[3:] == ["largest"]:
    paths.sort(key=lambda path: -os.path.getsize(path))
for path in paths:
    if len(maps) == int(sys.argv[1]):
        break
    real = os.path.realpath(path)
    if real in seen:
        continue
    seen.add(real)
    with open(real, "rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01" or header[18:20] != b"\x3e\0":
            continue
        at, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
        file.seek(at)
        table = file.read(size * count)
        for i in range(count):
            kind, flags, offset, address, _, bytes_, _, _ = struct.unpack_from("<IIQQQQQQ", table, i * size)
            if kind == 1 and flags & 1 and bytes_:
                begin = offset & ~4095
                maps.append(mmap.mmap(file.fileno(), offset + bytes_ - begin, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC, offset=begin))
                break
print(len(maps), flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    sum(range(1000))
