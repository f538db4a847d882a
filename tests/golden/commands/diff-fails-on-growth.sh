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
code 125 "$cicada" diff before.folded after.folded --fail-if 'misspelt>5%'
has 'neither side' err
code 1 "$cicada" diff before.folded after.folded --json --fail-if 'a>5%'
python3 - <<'PY' || fail json out
import json
diff = json.load(open("out"))
a = next(f for f in diff["functions"] if f["name"] == "a")
assert a["significant"] and abs(a["self"]["change_percent"] - 30) < 1e-9 and a["self"]["p"] < 1e-9, a
assert (a["self"]["before"], a["self"]["after"], diff["after"]["total"]) == (500, 800, 1000), a
assert len(diff["violations"]) == 1 and "a grew" in diff["violations"][0], diff["violations"]
PY
# Everything twice as much in the same time: no share has changed; absolutely, all has grown, in the pictures, too.
printf 'main;a 1000\nmain;b 1000\n' >twice.folded
code 0 "$cicada" diff before.folded twice.folded -o share.svg
has 'no significant difference' out
code 1 "$cicada" diff before.folded twice.folded --per second --fail-if 'a>10%' -o absolute.svg -o absolute.html
grep -q 'rgb(236,232,228)' share.svg || fail "shares that did not change are not grey" err
[ "$(grep -c 'style="fill:rgb(236,232,228)"' absolute.svg)" = 0 ] || fail "absolute growth is grey" err
grep -q '"wholes":\[1000,1000\]' absolute.svg || fail "both sides of an absolute picture relate to what was before" err
"$generator" golden.cicada
code 0 "$cicada" diff golden.cicada golden.cicada --by process,thread -o groups.html --all
code 125 "$cicada" diff before.folded after.folded --fail-if 'a>five%'
code 125 "$cicada" diff before.folded after.folded -o d.txt
echo ok
