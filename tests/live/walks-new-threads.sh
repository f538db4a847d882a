#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A thread that was not back in user mode since clone made it has clone's frame and no caller: its stack is whole.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 3999 -o recording.txt -- "$WORKLOADS/new_threads" 2 2>err || fail "record ended with $?"
# Stacks from the leaf outwards; kernel frames first. new: only clone's frame in user mode, and the kernel's side of a task's birth.
read -r new whole < <(perl -00 -ne '
  my ($head, @frames) = split /\n/;
  my @user = map { /^\s*[0-9a-f]+ (.+) \(/ ? $1 : () } grep { !/\(\[kernel\]\)$/ } @frames;
  next unless @user && $user[0] =~ /^(__)?clone3?$/ && grep { /ret_from_fork/ } @frames;
  $new++;
  $whole++ if @user == 1 && $head !~ /incomplete/;
  END { printf "%d %d\n", $new, $whole }' recording.txt)
echo "$new of new threads, $whole of them whole"
((new >= 10)) || fail "too few: $new"
((whole == new)) || fail "$((new - whole)) of $new are not whole"
