# SPDX-License-Identifier: Apache-2.0
# What the scripts share beside tests/live/lib.sh: a command's exit code, and what it said. golden.cicada is there (70 samples in main;work;inner,
# 30 in main;wait;sys_read).
source "$(dirname "${BASH_SOURCE[0]}")/../live/lib.sh"

# code N COMMAND…: ends with N. What it said is in out.txt and err.txt.
code() {
  local want=$1 got=0
  shift
  "$@" >out.txt 2>err.txt </dev/null || got=$?
  [[ $got == "$want" ]] || fail "exit code $got instead of $want: $*"
}
# has FILE REGEX; lacks FILE REGEX
has() { grep -Eq -- "$2" "$1" || { sed 's/^/  > /' "$1" | head -40; fail "no line of $1 matches: $2"; }; }
lacks() { ! grep -E -- "$2" "$1" || fail "a line of $1 matches: $2"; }

# compiled NAME <CODE: a C program in $T/NAME.
compiled() { cc -O1 -g -w -pthread -x c -o "$1" - || fail "cannot compile $1"; }

"$GOLDEN" golden.cicada
