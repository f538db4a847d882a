#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Thousands of programs in memory, each of them mapped and its file closed, while cicada may have few files open. The recording is written in all its
# formats however few they are; with 256 the neighbour's stacks are whole, and what went wrong a thousand times is told once.
source "$(dirname "$0")/lib.sh"
compiled memfd_programs
compiled spin
start "${as_attacker[@]}" "$lair/memfd_programs" $FOREVER "$lair/spin"
wait_for grep -qs running out
start_neighbour
record() { bounded 300 8 bash -c "ulimit -n $1 && exec "'"$@"' - "$CICADA" record -a -F 997 -d 3 "${@:2}" 2>err || fail "$1: record ended with $?: $(tail -3 err)"; }
few=$((104 + 8 * $(nproc)))
for most in $few 256 4096; do
  record $most -o $most.txt -o $most.folded -o $most.cicada
  for output in $most.txt $most.folded $most.cicada; do [[ -s $output ]] || fail "$output: not written"; done
  (($(wc -l <err) < 200)) || fail "$most files: $(wc -l <err) lines: $(head -40 err)"
  ((most == few)) || neighbour_is_whole $most.txt || fail "$most files: $(neighbour_is_whole $most.txt): $(head -20 err)"
done
