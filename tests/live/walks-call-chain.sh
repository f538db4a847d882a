#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Five frames of a plain program without frame pointers. Pairwise: each level with each kind of binary, and both with each compiler. The whole
# product is walks-every-build.sh.
source "$(dirname "$0")/lib.sh"
compilers=(gcc clang)
turn=0
for level in O0 O1 O2 O3 Os; do
  for kind in pie nopie static staticpie; do
    record_truth -- "chain_${compilers[turn % 2]}_${level}_$kind" 0.7
    turn=$((turn + 1))
  done
  turn=$((turn + 1))
done
