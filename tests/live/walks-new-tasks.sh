#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A task that was not back in user mode since clone gave it a stack has clone's frame and no caller: its stack is whole. Repeated until ten of each kind
# were met.
source "$(dirname "$0")/lib.sh"
clone=0 clone3=0
for ((i = 0; (clone < 10 || clone3 < 10) && i < 20; i++)); do
  "$CICADA" record -F 3999 -o recording.txt -- "$WORKLOADS/new_tasks" 2 2>err || fail "record ended with $?"
  cat recording.txt >>all.txt
  # Stacks leaf first, kernel frames before user frames; those of a task's birth in the kernel.
  read -r clone clone3 whole < <(perl -00 -ne '
    my ($head, @frames) = split /\n/;
    next unless grep { /ret_from_fork/ } @frames;
    my @user = map { /^\s*[0-9a-f]+ (.+) \(/ ? $1 : () } grep { !/\(\[kernel\]\)$/ } @frames;
    next unless @user && $user[0] =~ /^(__)?clone(3?)$/;
    $new{$2}++;
    $whole++ if @user == 1 && $head !~ /incomplete/;
    END { printf "%d %d %d\n", $new{""}, $new{3}, $whole }' all.txt)
done
echo "$clone new tasks in clone, $clone3 in clone3, $whole of them whole"
((clone >= 10 && clone3 >= 10)) || fail "too few: this tests nothing"
((whole == clone + clone3)) || fail "$((clone + clone3 - whole)) are not whole"
