#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command's own code, 128 + signal, 126, 127; its output untouched.
source "$(dirname "$0")/lib.sh"
code() { local got=0; "$CICADA" record -q -o x.folded -- "${@:2}" >stdout 2>err || got=$?; [[ $got == "$1" ]] || fail "exit code $got instead of $1: ${*:2}"; }
code 0 true
code 7 sh -c 'exit 7'
code 137 sh -c 'kill -KILL $$'
code 127 no-such-command-anywhere
code 127 ./no-such-file
touch plain; code 126 ./plain
code 126 /
printf '#!/no/such/interpreter\n' >script; chmod +x script; code 127 ./script
printf 'exit 5\n' >bare; chmod +x bare; code 5 ./bare
code 0 sh -c 'printf "a\0b\n"; printf "to stderr\n" >&2'
printf 'a\0b\n' | cmp -s - stdout || fail "the command's output was changed"
[[ $(<err) == "to stderr" ]] || fail "-q said something"
printf 'input' | "$CICADA" record -q -o x.folded -- cat >stdout && [[ $(<stdout) == input ]] || fail "the command's input was changed"
