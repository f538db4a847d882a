#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recording without names gets them; addresses with and without DWARF of one image keep their own.
set -euo pipefail
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}") generator=$(realpath "$2")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"  # root is shown source that everybody may read
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }
code() { local want=$1 got=0; shift; "$@" >out 2>err || got=$?; [ "$got" = "$want" ] || fail "exit code $got instead of $want: $*" out err; }

command -v gcc >/dev/null || { echo "skipped: no gcc"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: recording needs root"; exit 77; }
cat >hot.c <<'C'
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) sink += (unsigned)i * 3; }
int main() { while (clock() < CLOCKS_PER_SEC) hot(3000000); }
C
gcc -g -O1 hot.c -o hot
"$cicada" record -q -F 997 -o hot.cicada -- ./hot 2>err || { echo "skipped: cannot record: $(head -1 err)"; exit 77; }
"$cicada" convert -q hot.cicada hot.folded
has '^_start;__libc_start_main.*;main;hot [0-9]+$' hot.folded
code 0 "$cicada" report hot.cicada --annotate hot
has '[0-9.]+ % +[0-9.]+ % +3  .*void hot' out
# The report has the same lines with the same samples, and only if it is told to.
code 0 "$cicada" convert hot.cicada plain.html
code 0 "$cicada" convert --annotate hot.cicada code.html
python3 - plain.html code.html "$("$cicada" report hot.cicada --annotate hot | grep -c '%')" <<'PYTHON' || fail "annotations of the report" err
import base64, gzip, json, re, sys
def tables(path):
    data = json.loads(re.search(r'id="profile">(.*?)</script>', open(path).read(), re.S).group(1))
    raw = gzip.decompress(base64.b64decode(data["payload"]))
    return json.loads(raw[4:4 + int.from_bytes(raw[:4], "little")])
assert tables(sys.argv[1])["annotations"] == []
found = {a["function"]: a for a in tables(sys.argv[2])["annotations"]}
source, code = found["hot"]["parts"]
assert source["where"].endswith("/hot.c") and not source["instructions"] and code["instructions"], found
with_samples = [line for line in source["lines"] if line[3]]
assert len(with_samples) == int(sys.argv[3]) and any("void hot" in line[1] for line in with_samples), with_samples
assert sum(line[2] for line in with_samples) == sum(line[2] for line in code["lines"]) > 100, "self of lines and of instructions"
assert all(len(line[1]) < 200 for line in code["lines"]) and len(code["lines"]) < 40
PYTHON
mv hot.c gone.c
code 0 "$cicada" report hot.cicada --annotate hot
has '[0-9.]+ % +[0-9.]+ % +[0-9a-f]+  (add|mov|lea|cmp|jne|imul)' out
grep -q hlt out && fail "instructions of _start are shown for hot" out
echo ok
