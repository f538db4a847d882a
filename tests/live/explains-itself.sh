#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cicada, --help, doctor: a newcomer's first minute.
source "$(dirname "$0")/lib.sh"
"$CICADA" >out1 || fail "cicada alone ended with $?"
grep -q 'sudo cicada record' out1 || fail "no first command"
"$CICADA" record --help >help || fail "record --help ended with $?"
grep -q 'Ctrl-C' help || fail "record --help"
"$CICADA" doctor >out2 2>err || [[ $? == 1 ]] || fail "doctor ended with $?"
grep -q 'kernel' out2 || fail "doctor says nothing of the kernel"
"$CICADA" doctor --json | python3 -c 'import json, sys; checks = json.load(sys.stdin)["checks"]; assert len(checks) > 8, checks' || fail "doctor --json"
setpriv --reuid=65534 --clear-groups "$CICADA" doctor >out3 2>&1 && fail "doctor finds nothing missing without privileges"
grep -q 'sudo' out3 || fail "doctor names no remedy"
