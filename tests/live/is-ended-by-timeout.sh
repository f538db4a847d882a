#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout(1) sends its signal twice, to cicada and to its group: it is one Ctrl-C, and results are written.
source "$(dirname "$0")/lib.sh"
for ((i = 0; i < 6; i++)); do
  # In a group of its own, which timeout's signals stay in.
  code=0
  setsid timeout -s INT 4 "$CICADA" record -q -a -o "$i.cicada" || code=$?
  ((code == 124)) || fail "$i: exit code $code"
  "$CICADA" report "$i.cicada" >"$i.txt" 2>"$i.errors" || fail "$i: $(cat "$i.errors")"
  grep -q samples "$i.txt" || fail "$i: $(head -5 "$i.txt")"
  ! grep -qi 'not finished\|cut off\|incomplete' "$i.errors" || fail "$i: $(cat "$i.errors")"
done
