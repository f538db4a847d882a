#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a container's pid namespace: refused, with the line that works; in a container with the host's pids it works.
source "$(dirname "$0")/lib.sh"
code 125 unshare --pid --fork --mount-proc "$CICADA" record -a -d 0.2 -o x.folded
has err.txt 'docker run --privileged --pid=host'
has err.txt 'hostPID: true'
[[ $(wc -l <err.txt) == 1 ]] || fail "more than a line"
code 1 unshare --pid --fork --mount-proc "$CICADA" doctor
has out.txt '^MISSING  pid namespace'
has out.txt 'docker run --privileged --pid=host'
python3 -c 'while True: pass' &  # an idle machine has nothing to sample
started+=("$!")
code 0 unshare --mount --uts --ipc --net --cgroup "$CICADA" record -q -a -d 0.3 -o x.folded
[[ -s x.folded ]] || fail "nothing was recorded in a container with the host's pids"
