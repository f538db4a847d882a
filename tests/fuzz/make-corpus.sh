#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Seeds, as OUTPUT_DIR/TARGET/*: .eh_frame of small programs of this machine, cut to 4 KiB; tiny libraries and their debug sections.
#   make-corpus.sh OUTPUT_DIR [CICADA]        the program, for recordings and pprof files
set -eu
out=$1/cfi_fuzz
mkdir -p "$out" "$1/expression_fuzz" "$1/table_fuzz"
n=0
for file in /usr/bin/true /usr/bin/env /usr/bin/gzip /usr/lib/x86_64-linux-gnu/lib{c,m,crypto,gcrypt,gcc_s,z}.so.*; do
  [ -f "$file" ] || continue
  raw=$(mktemp)
  objcopy -O binary --only-section=.eh_frame "$file" "$raw" 2>/dev/null || true
  for offset in 0 16384; do
    { printf '\001'; tail -c +$((offset + 1)) "$raw" | head -c 4096; } >"$out/$n"
    n=$((n + 1))
  done
  rm -f "$raw"
done
printf '\377\377\010\001\167\010\200\000\077\032\073\052\063\044\042' >"$1/expression_fuzz/plt"
printf '\377\377\010\001\166\170\006\043\010' >"$1/expression_fuzz/drap"
printf '\002\100\000\020\004\200\377\017\300\100\000\001\002\003\105\001\002' >"$1/table_fuzz/mixed"

mkdir -p "$1/attach_fuzz"
printf '\000cicada-attach 1 follow\npause\nresume\n' >"$1/attach_fuzz/follow"
printf '\001pause\nrecord off-cpu\tnginx,php*\nstop\n' >"$1/attach_fuzz/lines"

mkdir -p "$1/http_fuzz"
printf 'GET /token/ HTTP/1.1\r\nHost: 127.0.0.1:4747\r\nAccept: */*\r\n\r\n' >"$1/http_fuzz/page"
printf 'GET /token/events?e=0&last=1.2.3 HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1.2.4\r\nSec-Fetch-Site: same-origin\r\n\r\n' >"$1/http_fuzz/events"
printf 'POST /token/pause HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: http://[::1]:80\r\nContent-Length: 4\r\n\r\nbodyHEAD / HTTP/1.0\r\n\r\n' >"$1/http_fuzz/post"

# --- names: libraries of a few KiB, with and without section headers, DWARF 4 and 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in symtab usdt minidebug info line perf_map jitdump; do mkdir -p "$1/${target}_fuzz"; done
cat >"$work/a.c" <<'C'
int puts(const char*);
static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + 1; }
__attribute__((noinline)) int middle(int x) { for (int i = 0; i < 3; ++i) x += inner(x); return x; }
int outer(int x) { return puts("a") + middle(x) + inner(x); }
C
for version in 4 5; do
  gcc -O2 -g -gdwarf-$version -shared -fPIC -nostdlib -Wl,-z,norelro,-z,noseparate-code,-Ttext=0x1000 "$work/a.c" -o "$work/a$version.so" 2>/dev/null
  objcopy --strip-debug "$work/a$version.so" "$1/symtab_fuzz/dwarf$version"
  sections=(.debug_info .debug_abbrev .debug_line .debug_str .debug_rnglists .debug_ranges .debug_addr .debug_str_offsets .debug_aranges .debug_loc .debug_loclists)
  : >"$work/sizes"
  : >"$work/bytes"
  for section in "${sections[@]}"; do
    : >"$work/one"
    objcopy -O binary --only-section=$section --set-section-flags $section=alloc "$work/a$version.so" "$work/one" 2>/dev/null || : >"$work/one"
    size=$(stat -c %s "$work/one")
    printf "\\x$(printf %02x $((size % 256)))\\x$(printf %02x $((size / 256)))" >>"$work/sizes"
    cat "$work/one" >>"$work/bytes"
    [ $section != .debug_line ] || cp "$work/one" "$1/line_fuzz/dwarf$version"
  done
  cat "$work/sizes" "$work/bytes" >"$1/info_fuzz/dwarf$version"
done
objcopy --strip-all "$work/a5.so" "$1/symtab_fuzz/stripped"
head -c 64 "$1/symtab_fuzz/stripped" >"$work/head"
# no section headers: e_shoff, e_shnum and e_shstrndx are zero
{ head -c 40 "$work/head"; printf '\0\0\0\0\0\0\0\0'; tail -c +49 "$work/head" | head -c 12; printf '\0\0\0\0'; tail -c +65 "$1/symtab_fuzz/stripped"; } >"$1/symtab_fuzz/without-sections"
# USDT notes: two places of a probe with a semaphore
cat >"$work/usdt.c" <<'C'
__attribute__((section(".probes"), used)) volatile unsigned short semaphore;
#define PLACE(operands) __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b,0,semaphore\n" \
                                         ".asciz \"app\"\n.asciz \"begin\"\n.asciz \"" operands "\"\n994: .balign 4\n.popsection")
void f(void) { PLACE("8@%rdi -4@-8(%rbp,%rax,4) 1@%ah 2@$-7"); PLACE("-8@$1 4@(%rsp) 8f@%xmm0 2@8(,%r9,2)"); }
C
gcc -O2 -shared -fPIC -nostdlib -Wl,-z,norelro,-z,noseparate-code,-Bsymbolic -fvisibility=hidden "$work/usdt.c" -o "$1/usdt_fuzz/notes"
strip --strip-debug "$1/usdt_fuzz/notes"
{ printf '\001'; xz -c "$1/symtab_fuzz/dwarf5"; } >"$1/minidebug_fuzz/xz"
python3 - "$1/minidebug_fuzz/zlib" <<'P'
import struct, sys, zlib
text = b"debug information " * 64
open(sys.argv[1], "wb").write(b"\0" + struct.pack("<IIQQ", 1, 0, len(text), 1) + zlib.compress(text))
P
printf '7f0000001000 20 JS:*f /a.js:1:2\n7f0000002000 10 py::g:/b.py\n0x7f0000003000 0x10 long App.hot(int)\nLjunk\n' >"$1/perf_map_fuzz/three"
python3 - "$1/jitdump_fuzz/two" <<'P'
import struct, sys
def record(kind, body): return struct.pack("<IIQ", kind, 16 + len(body), 0) + body
header = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 7, 1, 0)
lines = struct.pack("<QQ", 0x1000, 2) + struct.pack("<QII", 0x1000, 10, 0) + b"/a.js\0" + struct.pack("<QII", 0x1008, 11, 0) + b"\xff\0"
load = struct.pack("<IIQQQQ", 7, 7, 0x1000, 0x1000, 0x20, 1) + b"f\0"
move = struct.pack("<IIQQQQQ", 7, 7, 0, 0x1000, 0x5000, 0x20, 1)
open(sys.argv[1], "wb").write(header + record(2, lines) + record(0, load) + record(1, move))
P

# --- split units (beside the image, and packed), and what dwz moves out
mkdir -p "$1/companion_fuzz"
with_companion() {  # NAME IMAGE COMPANION
  python3 -c 'import sys; image, other = (open(f, "rb").read() for f in sys.argv[2:]); open(sys.argv[1], "wb").write(len(image).to_bytes(3, "little") + image + other)' "$1" "$2" "$3"
}
for version in 4 5; do
  (cd "$work" && gcc -O2 -g -gdwarf-$version -gsplit-dwarf -c -fPIC a.c -o split.o &&
    gcc -shared -nostdlib -Wl,-z,norelro,-z,noseparate-code,-Ttext=0x1000 split.o -o split.so) 2>/dev/null || continue
  with_companion "$1/companion_fuzz/dwo$version" "$work/split.so" "$work/split.dwo"
  ! command -v dwp >/dev/null || { (cd "$work" && dwp -o split.dwp split.dwo) 2>/dev/null && with_companion "$1/companion_fuzz/dwp$version" "$work/split.so" "$work/split.dwp"; } || true
done
if command -v dwz >/dev/null; then
  cp "$work/a4.so" "$work/one.so"
  cp "$work/a4.so" "$work/two.so"
  if (cd "$work" && dwz -m shared.debug one.so two.so) 2>/dev/null; then with_companion "$1/companion_fuzz/dwz" "$work/one.so" "$work/shared.debug"; fi
fi

# --- texts of the kernel, its records, and profiles
mkdir -p "$1"/{maps,folded,recording,pprof,kallsyms,record}_fuzz
cp /proc/self/mountinfo "$1/maps_fuzz/mountinfo"
printf '23 28 0:21 / /proc rw,relatime shared:5 - proc proc rw,hidepid=invisible\n' >"$1/maps_fuzz/hidepid"
printf 'ffffffff81000000 T _text\nffffffff81000000 t startup_64\nffffffffc0000000 t ext4_read\t[ext4]\nffffffffc0000000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n' >"$1/kallsyms_fuzz/lines"
printf 'tcp_sendmsg+0x12/0x340 [module]' >"$1/kallsyms_fuzz/text"
python3 - "$1/record_fuzz" <<'P'
import struct, sys
# abi/records.h: kind first; 1 sample, 2 stack, 3 unwind request, 4 and on lifecycle
for kind in range(8):
    open(f"{sys.argv[1]}/kind{kind}", "wb").write(struct.pack("<I", kind) + bytes([2, 0, 0, 0]) + bytes(64) + struct.pack("<QQ", 0xffff, 7) + bytes(136))
P
cp /proc/self/maps "$1/maps_fuzz/maps"
cp /proc/self/stat "$1/maps_fuzz/stat"
printf '7f0000000000-7f0000001000 r-xp 00000000 fe:00 12 /tmp/a b\\012c (deleted)\n' >"$1/maps_fuzz/newline"
printf 'main;f;g 7\nmain;f 2\nmain;[unknown];h;read_[k] 1\n' | tee "$1/folded_fuzz/three" >"$work/three.folded"
printf '\002\000\000\001\377\000\200' >"$1/recording_fuzz/changes"
if [ -x "${2:-}" ]; then
  "$2" convert "$work/three.folded" "$work/three.cicada" "$work/three.pb.gz" 2>/dev/null
  { printf '\000'; cat "$work/three.cicada"; } >"$1/recording_fuzz/file"
  { printf '\003\077'; cat "$work/three.cicada"; } >"$1/recording_fuzz/pieces"
  cp "$work/three.pb.gz" "$1/pprof_fuzz/packed"
  gzip -dc "$work/three.pb.gz" >"$1/pprof_fuzz/plain"
fi

# --- questions to parsers: a library, and the rows, two names, a step and functions of it
mkdir -p "$1/parser_questions_fuzz"
python3 - "$1" <<'P'
import struct, sys
def question(kind, job, number=1): return struct.pack("<BBH", kind, number, len(job)) + job
patterns = b"".join(struct.pack("<I", len(text)) + text for text in (b"middle", b"o*r", b"outer(int)", b"ineer"))
for name in ("dwarf4", "dwarf5"):
    image = open(f"{sys.argv[1]}/symtab_fuzz/{name}", "rb").read()
    # by, address, where the copied stack begins, its pages, known registers, its bytes; the registers; the stack
    step = struct.pack("<6Q", 0, 0x1000, 0x100, 1, 0x1ffff, 64) + struct.pack("<17Q", *[0x100] * 17) + bytes(64)
    open(f"{sys.argv[1]}/parser_questions_fuzz/{name}", "wb").write(
        struct.pack("<H", len(image)) + image + question(3, b"") + question(2, struct.pack("<2Q", 0x1000, 0x1008)) + question(9, step) + question(10, patterns, 4))
P
