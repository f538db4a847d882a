#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Children that never exec.
source "$(dirname "$0")/lib.sh"
record_truth -- fork_workers 1.5
[[ $(sed -n 's,^fork_workers \([0-9]*\)/.*,\1,p' recording.txt | sort -u | wc -l) -ge 4 ]] || fail "fewer than four processes in the recording"
