#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A full disk, a closed pipe, for every output; input that is cut off, damaged, of another or a newer format, empty, or a bomb: one
# line that says what is wrong, exit code 125, and no file, whole or partial, under the final name or beside it.
set -euo pipefail
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}") generator=$(realpath "$2")
dir=$(mktemp -d)
trap 'umount "$dir/small" 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }
code() { local want=$1 got=0; shift; timeout 300 "$@" >out 2>err || got=$?; [ "$got" = "$want" ] || fail "exit code $got instead of $want: $*" out err; }
nothing_in() { [ -z "$(find "$1" -mindepth 1)" ] || fail "something is left: $(find "$1" -mindepth 1)" err; }
formats="cicada folded svg html json speedscope.json firefox.json.gz pb.gz pprof codeguru.json txt"
"$generator" --hostile good.cicada

# --- outputs
for format in $formats; do
  mkfifo "p.$format"
  head -c 1 <"p.$format" >/dev/null &
  code 125 "$cicada" convert -q good.cicada "p.$format"
  wait
  has 'the reader closed the pipe' err
  [ -p "p.$format" ] || fail "p.$format is no pipe any more" err
  rm "p.$format"
done
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=8k tmpfs small 2>/dev/null; then
  for format in $formats; do
    code 125 "$cicada" convert -q good.cicada "small/x.$format"
    has 'small/x\.[a-z.]+: no space left' err
    [ "$(wc -l <err)" = 1 ] || fail "more than a line" err
    nothing_in small
  done
  code 125 "$cicada" diff good.cicada good.cicada -o small/x.svg
  nothing_in small
  code 125 "$cicada" merge good.cicada good.cicada -o small/x.cicada
  nothing_in small
  umount small
else
  echo "no tmpfs: a full disk is not tried"
fi

# --- inputs
mkdir outputs
refused() {  # FILE REGEX: by every command that reads
  code 125 "$cicada" convert -q "$1" outputs/x.svg
  has "$2" err
  code 125 "$cicada" report "$1"
  code 125 "$cicada" diff "$1" good.cicada
  code 125 "$cicada" merge good.cicada "$1" -o outputs/x.cicada
  nothing_in outputs
}
printf '\x89CICADA\n\xc8\0\0\0' >newer.cicada
refused newer.cicada 'recording format 200, this cicada reads format [0-9]+; use a newer cicada'
: >empty.cicada; refused empty.cicada 'empty'
: >empty.pb.gz; refused empty.pb.gz 'empty'
head -c 9 good.cicada >cut.cicada; refused cut.cicada 'not a cicada recording'
cp "$cicada" elf.cicada; refused elf.cicada 'not a format that cicada reads'
printf 'PERFILE2 and so on' >perf.data; refused perf.data "perf's own format"
printf 'main;a 1\nmain;b many\n' >bad.folded; refused bad.folded 'bad.folded: line 2'
head -c 4096 /dev/urandom | gzip >noise.pb.gz; refused noise.pb.gz 'noise.pb.gz'
"$cicada" convert -q good.cicada whole.pb.gz
head -c 3000 whole.pb.gz >cut.pb.gz; refused cut.pb.gz 'cut off'
head -c 700M /dev/zero | gzip -1 >bomb.pb.gz; refused bomb.pb.gz 'more than [0-9]+ bytes when decompressed'
# What is left of a recording opens, and says what is missing.
size=$(stat -c %s good.cicada)
head -c $((size * 9 / 10)) good.cicada >part.cicada
code 0 "$cicada" convert part.cicada part.folded
has 'warning: .*(cut off|not shown|are there)' err
{ head -c $((size * 9 / 10)) good.cicada; printf 'X'; tail -c +$((size * 9 / 10 + 2)) good.cicada; } >flipped.cicada
code 0 "$cicada" convert flipped.cicada flipped.folded
has 'warning: ' err
echo ok
