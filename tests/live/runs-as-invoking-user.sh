#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under sudo: the command is the user's, and so is the output; --as-root is not.
source "$(dirname "$0")/lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"
id nobody >/dev/null || skip "no user nobody"
chmod 755 "$T"
uid=$(id -u nobody) gid=$(id -g nobody)
env SUDO_UID="$uid" SUDO_GID="$gid" SUDO_USER=nobody HOME=/root USER=root "$CICADA" record -q -o x.folded -- sh -c 'id -u; id -g; id -G; echo "$USER $HOME ${SUDO_UID-none}"' >stdout 2>err || fail "record ended with $?"
[[ $(sed -n 1p stdout) == "$uid" && $(sed -n 2p stdout) == "$gid" ]] || fail "ran as $(xargs <stdout)"
[[ $(sed -n 4p stdout) == "nobody $(getent passwd nobody | cut -d: -f6) none" ]] || fail "environment: $(sed -n 4p stdout)"
[[ $(stat -c %u x.folded) == "$uid" ]] || fail "the output belongs to $(stat -c %U x.folded)"
env SUDO_UID="$uid" SUDO_GID="$gid" SUDO_USER=nobody "$CICADA" record -q --as-root -o y.folded -- id -u >stdout 2>err || fail "record ended with $?"
[[ $(<stdout) == 0 ]] || fail "--as-root ran as $(<stdout)"
