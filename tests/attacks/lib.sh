# SPDX-License-Identifier: Apache-2.0
# What the attack tests share, beside tests/live/lib.sh: a user whom nobody knows, and limits.
ATTACKS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$ATTACKS/../live/lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"
chmod 755 "$T"

# A number that no account has, and a folder of its own.
attacker=$((200000 + $$ % 100000 * 2))
lair=$T/lair
mkdir "$lair"
chown "$attacker:$attacker" "$lair"

# "${as_attacker[@]}" COMMAND…: in $lair, without groups, capabilities and root's environment. An array, so that a job's pid is the command's.
# setpriv looks for the command while it has root's capabilities: in folders for everybody only.
as_attacker=(env -C "$lair" -i PATH=/usr/local/bin:/usr/bin:/bin "HOME=$lair" setpriv --reuid "$attacker" --regid "$attacker" --clear-groups --inh-caps=-all)

# bounded MEGABYTES SECONDS COMMAND…: its exit code; fails the test beyond either limit. What it took is in $T/taken.
bounded() {
  local code=0
  python3 "$ATTACKS/bounded.py" "$T/taken" "$@" || code=$?
  ! grep -q '^beyond' "$T/taken" || fail "$(<"$T/taken"): ${*:3}"
  return "$code"
}

# compiled NAME [OPTION…]: tests/attacks/NAME.c, as $lair/NAME.
compiled() {
  local name=$1
  shift
  cc -O1 -w -pthread "$@" -o "$lair/$name" "$ATTACKS/$name.c" || fail "cannot compile $name.c"
}
