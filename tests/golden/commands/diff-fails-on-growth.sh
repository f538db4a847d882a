#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# diff: noise is no change, growth is, and --fail-if makes it an exit code.
set -euo pipefail
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}") generator=$(realpath "$2")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }
code() { local want=$1 got=0; shift; "$@" >out 2>err || got=$?; [ "$got" = "$want" ] || fail "exit code $got instead of $want: $*" out err; }

printf 'main;a 500\nmain;b 500\n' >before.folded
printf 'main;a 510\nmain;b 490\n' >noise.folded
printf 'main;a 800\nmain;b 200\n' >after.folded
code 0 "$cicada" diff before.folded noise.folded --fail-if '*>0.1%'
has 'no significant difference' out
code 0 "$cicada" diff before.folded after.folded --fail-if 'a>31%' -o d.svg -o d.html
has '50\.00 +\+30\.00 .*\* a$' out
has '50\.00 +-30\.00 .*\* b$' out
for file in d.svg d.html; do [ -s $file ] || fail "$file is missing" err; done
if command -v xmllint >/dev/null; then xmllint --noout d.svg; fi
code 1 "$cicada" diff before.folded after.folded --fail-if 'a>5%'
has 'a grew by 30\.0 %' err
code 0 "$cicada" diff after.folded before.folded --fail-if 'a>5%'
code 0 "$cicada" diff before.folded after.folded --fail-if 'misspelt>5%'
has 'neither side' err
code 125 "$cicada" diff before.folded after.folded --fail-if 'a>five%'
code 125 "$cicada" diff before.folded after.folded -o d.txt
echo ok
