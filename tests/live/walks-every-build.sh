#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole product of compilers, levels and kinds of binary.
source "$(dirname "$0")/lib.sh"
for compiler in gcc clang; do
  for level in O0 O1 O2 O3 Os; do
    for kind in pie nopie static staticpie; do record_truth -- "chain_${compiler}_${level}_$kind" 0.7; done
  done
done
