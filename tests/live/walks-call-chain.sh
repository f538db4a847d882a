#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Five frames of a plain -O2 program without frame pointers, in every kind of binary.
source "$(dirname "$0")/lib.sh"
for variant in gcc_O2_pie gcc_O2_nopie gcc_O2_static gcc_O2_staticpie gcc_O0_pie gcc_Os_nopie gcc_O3_static clang_O2_pie clang_O1_nopie clang_Os_static; do
  record_truth -- chain_$variant 0.7
done
