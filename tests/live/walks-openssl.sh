#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenSSL's own assembly: digests, ciphers, big numbers, curves.
source "$(dirname "$0")/lib.sh"
record_foreign openssl

# Its SHA-512 keeps where its caller's stack is below the stack pointer, in the red zone, as its CFI says. So must the copies have that, of a program that cicada,
# stopped, knows nothing of.
command -v openssl >/dev/null || { echo "no openssl: copies are not looked at" && exit; }
"$CICADA" record --force --stats -F 997 -o copies.folded -- sh -c 'kill -STOP $PPID; openssl speed -seconds 1 -bytes 8192 sha512 >/dev/null 2>&1 & sleep 0.3; kill -CONT $PPID; wait' 2>err || fail "record ended with $?"
count() { awk -v text="$1" 'index($0, text) { gsub(",", "", $1); print $1; exit }' err; }
copies=$(count 'stacks sent to user space to be finished')
((copies >= 20)) || fail "only $copies copies"
(($(count 'finished in user space') * 10 >= copies * 9)) || fail "of $copies copies $(count 'finished in user space') are finished"
