#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Without privileges, without BTF: one line with the remedy, exit code 125, nothing written; and `doctor` names the same thing. (A kernel that is
# too old: tests/kernels.)
source "$(dirname "$0")/lib.sh"
chmod 755 "$T"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ! "${nobody[@]}" "$CICADA" --version >/dev/null 2>&1; then  # the tree is in a directory that others may not enter
  cp "$CICADA" "$T/cicada"
  CICADA=$T/cicada
fi
mkdir -m 777 theirs
expect_error 125 "run it with sudo, or: sudo setcap cap_perfmon,cap_bpf," "${nobody[@]}" "$CICADA" record -a -d 1 -o theirs/x.folded
"${nobody[@]}" "$CICADA" doctor >doctor && fail "doctor finds nothing missing for nobody"
grep -q '^MISSING  *privileges' doctor || fail "doctor does not name the privileges: $(cat doctor)"

without_btf=(unshare --mount sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh)
expect_error 125 "has no BTF (/sys/kernel/btf/vmlinux)" "${without_btf[@]}" "$CICADA" record -a -d 1 -o x.folded
"${without_btf[@]}" "$CICADA" doctor >doctor && fail "doctor finds nothing missing without BTF"
grep -q '^MISSING  *BTF' doctor || fail "doctor does not name BTF: $(cat doctor)"
[[ -z $(find . -name 'x*') ]] || fail "something was written"
