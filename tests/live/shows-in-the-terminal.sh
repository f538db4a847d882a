#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: cicada-*
# `cicada top` in a terminal (tmux): it shows what runs, gives the terminal back on every way out, passes exit codes on, and is refused in words where
# there is no terminal.
source "$(dirname "$0")/lib.sh"
command -v tmux >/dev/null || skip "no tmux: apt-get install tmux"
export CICADA TMUX_TMPDIR=$T LC_ALL=C.UTF-8
unset TMUX
tmux() { command tmux -L top -f /dev/null "$@"; }
at_exit 'tmux kill-server 2>/dev/null'
tmux new-session -d -s stays "sleep 3600"  # with its last session the server would go, and the next one could meet its end
# in_terminal COMMAND: in a new terminal, with the modes before and after in `before` and `after`, its exit code in `code`.
in_terminal() {
  rm -f before after code
  cat >command.sh <<SH
stty -a >before
$1
echo \$? >code.new
stty -a >after
mv code.new code
sleep 600
SH
  tmux kill-session -t top 2>/dev/null || true
  tmux new-session -d -s top -x 120 -y 40 "bash command.sh"
}
picture() { tmux capture-pane -p -t top; }
shows() { picture | grep -qF -- "$1"; }
press() { tmux send-keys -t top "$@"; }
ended() { [[ -s code ]]; }
# ends_with CODE: and the terminal is as it was.
ends_with() {
  wait_for ended
  [[ $(cat code) == "$1" ]] || { picture; fail "exit code $(cat code) instead of $1"; }
  cmp before after || fail "the terminal has other modes afterwards"
  [[ $(tmux display-message -p -t top '#{alternate_on} #{cursor_flag} #{mouse_any_flag}') == "0 1 0" ]] || fail "the terminal was not given back: $(tmux display-message -p -t top '#{alternate_on} #{cursor_flag} #{mouse_any_flag}')"
}
on_other_screen() { [[ $(tmux display-message -p -t top '#{alternate_on}') == 1 ]]; }
find_viewer() { viewer=$(pgrep -x cicada-shows -P "$(pgrep -x cicada -P "$(tmux display-message -p -t top '#{pane_pid}')")") 2>/dev/null; }

start_workload chain_gcc_O2_pie
target=$pid

# q ends the recording. Who draws has no rights.
in_terminal "'$CICADA' top -F 499 -p $target"
wait_for on_other_screen
wait_for find_viewer
[[ $(awk '/^Uid/ { print $2 }' "/proc/$viewer/status") != 0 ]] || fail "who draws is root"
awk '/^CapEff/ { c = $2 } /^Seccomp:/ { s = $2 } END { exit !(s == 2 && (c == "0000000000000000" || c == "0000000400000000")) }' "/proc/$viewer/status" || fail "who draws has rights: $(grep -E 'Cap|Seccomp' "/proc/$viewer/status")"
wait_for shows "$target"
press q
ends_with 0
[[ -z $(picture) ]] || { picture; fail "it said something"; }

# Ctrl-C, too.
in_terminal "'$CICADA' top"
wait_for on_other_screen
wait_for shows 'whole machine'
press C-c
ends_with 0

# Killed, or it crashes: the recorder cleans up, and says it.
for signal in KILL SEGV; do
  in_terminal "'$CICADA' top -p $target"
  wait_for on_other_screen
  wait_for find_viewer
  kill -$signal "$viewer"
  ends_with 125
  shows "was ended by signal $(kill -l $signal)" || { picture; fail "it does not say what happened"; }
done

# Told to end: in order.
in_terminal "'$CICADA' top -p $target"
wait_for on_other_screen
wait_for find_viewer
kill -TERM "$viewer"
ends_with 0

# The recorder is killed: the viewer gives the terminal back itself.
in_terminal "'$CICADA' top -p $target"
wait_for on_other_screen
wait_for find_viewer
recorder=$(awk '/^PPid/ { print $2 }' "/proc/$viewer/status")
kill -KILL "$recorder"
wait_for ended
other_screen_left() { ! on_other_screen; }
wait_for other_screen_left
gone() { ! kill -0 "$viewer" 2>/dev/null; }
wait_for gone

# A command: what it prints is not in the way, its end leaves the picture, its code is passed on.
in_terminal "'$CICADA' top -F 499 -- sh -c 'test -t 0 && test -t 1 && test -t 2 && : <>/dev/tty || exit 9; stty size; for i in 1 2 3 4 5 6 7 8 9; do echo garbage; sleep 0.1; done; exit 7'"
wait_for on_other_screen
wait_for find_viewer
no_child_but_the_viewer() { [[ -z $(pgrep -x sh -P "$(awk '/^PPid/ { print $2 }' "/proc/$viewer/status")") ]]; }
wait_for no_child_but_the_viewer
sleep 0.5
on_other_screen || fail "the picture went with the command"
press q
ends_with 7
[[ -z $(picture | grep garbage) ]] || { picture; fail "the command's output is on the terminal"; }

# Left before the command's end: that is ended, too.
in_terminal "'$CICADA' top -- sleep 300"
wait_for on_other_screen
press q
ends_with 0

# It has ended before there was a sample.
in_terminal "'$CICADA' top -F 1 -- true"
wait_for on_other_screen
wait_for shows 'there are no samples'
press q
ends_with 0

# What another one records; that goes on.
"$CICADA" record -q -F 499 -p "$target" --attachable -o attached.cicada &
recorder=$!
attachable() { "$CICADA" report --attach "$recorder" >/dev/null 2>&1; }
wait_for attachable
in_terminal "'$CICADA' top --attach $recorder"
wait_for on_other_screen
wait_for shows "all: 100.0 %"
press 4
wait_for shows "($target)"
press q
ends_with 0
kill -INT "$recorder"
wait "$recorder" || fail "the recorder ended with $?"

# A file.
"$CICADA" record -q -F 499 -d 1 -p "$target" -o file.cicada
for how in "top file.cicada" "report --tui file.cicada"; do
  in_terminal "'$CICADA' $how"
  wait_for on_other_screen
  wait_for shows file.cicada
  press q
  ends_with 0
done

# What cannot begin says so on the terminal as it was.
in_terminal "setpriv --reuid=65534 --clear-groups '$CICADA' top 2>&1"
ends_with 125
in_terminal "TERM=nonsense '$CICADA' top -p $target"
ends_with 125
shows nonsense || { picture; fail "an unknown terminal is not named"; }
[[ $(picture | grep -c '^cicada: ') == 1 ]] || { picture; fail "more than the cause is said"; }
in_terminal "'$CICADA' top -- no-such-command"
ends_with 127
shows 'not found' || { picture; fail "no word of the command"; }

expect_error 125 "cicada report" "$CICADA" top
expect_error 125 "no terminal" "$CICADA" top file.cicada
expect_error 125 "is for what is recorded now" "$CICADA" top -F 99 file.cicada

# For machines.
"$CICADA" top --json -F 499 -d 3 -p "$target" >lines 2>err || fail "top --json ended with $?"
"$CICADA" top --json file.cicada >line 2>err || fail "top --json FILE ended with $?"
python3 - "$target" <<'PY' || { cat lines; fail "the lines"; }
import json, sys
lines = [json.loads(line) for line in open("lines")]
assert len(lines) >= 2, len(lines)
last = lines[-1]
assert last["ended"] and not lines[0]["ended"], (lines[0]["ended"], last["ended"])
assert last["samples"] > lines[0]["samples"] and last["lost"] <= 0.05 * last["samples"], last
assert [process["pid"] for process in last["processes"]] == [int(sys.argv[1])], last["processes"]
assert last["processes"][0]["share"] > 0.99
main = [function for function in last["functions"] if function["name"] == "main"]
assert main and main[0]["total"] > 0.9 * last["total"], last["functions"]
(only,) = [json.loads(line) for line in open("line")]
assert only["total"] > 0 and only["ended"], only
PY
exit 0
