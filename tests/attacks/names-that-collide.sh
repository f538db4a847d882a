#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 100,000 names whose last eight bytes made the product of a hash with known factors zero: they cost what other names cost.
source "$(dirname "$0")/lib.sh"
write_names() {
  python3 -c '
import sys
letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"
with open(sys.argv[1], "wb") as out:
    for i in range(100000):
        out.write(bytes(letters[i >> 5 * k & 31] for k in range(8)) + bytes.fromhex(sys.argv[2]) + b" 1\n")' "$@"
}
write_names plain.folded 6162636465666768
write_names hostile.folded 93fd5966b8fee8d6
bounded 1000 2 "$CICADA" convert plain.folded plain.txt
bounded 1000 2 "$CICADA" convert hostile.folded hostile.txt
for format in svg html pb.gz; do bounded 1000 4 "$CICADA" convert hostile.folded "hostile.$format"; done
