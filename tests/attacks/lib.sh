# SPDX-License-Identifier: Apache-2.0
# What the attack tests share, beside tests/live/lib.sh: a user whom nobody knows, and limits.
ATTACKS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$ATTACKS/../live/lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"
chmod 755 "$T"

# A number that no account has, and a directory of its own.
attacker=$((200000 + $$ % 100000 * 2))
lair=$T/lair
mkdir "$lair"
chown "$attacker:$attacker" "$lair"

# "${as_attacker[@]}" COMMAND…: in $lair, without groups, capabilities and root's environment. An array, so that a job's pid is the command's.
# setpriv looks for the command while it has root's capabilities: in directories for everybody only.
as_attacker=(env -C "$lair" -i PATH=/usr/local/bin:/usr/bin:/bin "HOME=$lair" setpriv --reuid "$attacker" --regid "$attacker" --clear-groups --inh-caps=-all)

# "${without_perf_map[@]}" COMMAND…: a process of this pid may have left a map that others cannot replace.
without_perf_map=(bash -c 'rm -f "/tmp/perf-$$.map"; exec "$@"' -)

# bounded MEGABYTES SECONDS COMMAND…: its exit code; fails the test beyond either limit, of memory and of CPU time on a calm machine (bounded.py).
# What it took is in $T/taken.
bounded() {
  local code=0
  python3 "$ATTACKS/bounded.py" "$T/taken" "$@" || code=$?
  ! grep -q '^beyond' "$T/taken" || fail "$(<"$T/taken"): ${*:3}"
  return "$code"
}

# begin_bounded MEGABYTES SECONDS COMMAND…: the same in the background. Cicada, by the pid $recorder, samples when this returns; end_bounded waits.
begin_bounded() {
  rm -f "$T/taken"
  bounded "$@" &
  bounded=$!
  started+=("$bounded")
  wait_for bounded_runs
  started+=("$recorder")
  wait_for samples_or_ended
}
bounded_runs() { recorder=$(sed -n 's/^running: //p' "$T/taken" 2>/dev/null) && [[ -n $recorder ]]; }
end_bounded() { wait "$bounded"; }

# compiled NAME [OPTION…]: tests/attacks/NAME.c, as $lair/NAME. Root's files would be read with root's, and so would wait for each other with those.
compiled() {
  local name=$1
  shift
  cc -O1 -w -pthread "$@" -o "$lair/$name" "$ATTACKS/$name.c" || fail "cannot compile $name.c"
  chown "$attacker:$attacker" "$lair/$name"
}

# within SECONDS MORE: what bounded ran last took no longer than SECONDS of the clock and MORE of a calm machine, less what it waited for a CPU.
within() {
  awk -v seconds="$1" -v more="$2" '{ for (i = 2; i <= NF; ++i) {
      if ($(i + 1) == "of" && $(i + 3) == "calm") slowness = substr($i, 2)
      if ($i == "s" && $(i + 2) == "its") own = $(i - 1) } }
    END { exit !(slowness >= 1 && own != "" && own <= seconds + more * slowness) }' "$T/taken"
}

# start_neighbour: somebody else's program, by the name of neighbour and the pid $neighbour, in neighbours_hot().
start_neighbour() {
  cc -O1 -w -Dhot=neighbours_hot -o "$T/neighbour" "$ATTACKS/spin.c" || fail "cannot compile"
  "$T/neighbour" $FOREVER >/dev/null &
  neighbour=$!
  started+=("$neighbour")
}

# neighbour_is_whole RECORDING.txt: 99 % of the neighbour's stacks are complete and named.
neighbour_is_whole() {
  awk -v RS= '/^neighbour / { ++all; if (/_start/) ++whole }
    END { print whole + 0 " of " all + 0 " of the neighbours stacks are whole"; exit !(all > 100 && whole >= all * 0.99) }' "$1"
}
