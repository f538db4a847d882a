#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Waits that the ring does not hold, because cicada was stopped meanwhile, are lost in time, too: what is stored and what is lost are together what the
# threads waited by their own clocks, and by cicada's account of all waits. The summary says how much it is, without --stats.
source "$(dirname "$0")/lib.sh"
# What a hypervisor takes is in no process's CPU time, and is no wait.
stolen() { awk '/^cpu / { print $9 / '"$(getconf CLK_TCK)"' }' /proc/stat; }
record_stopped() {
  local taken
  taken=$(stolen)
  begin_record "$@" -e off-cpu/period=1/ -o x.folded -- "$WORKLOADS/switch_storm" 8 2 quiet waits >truth
  # Until the ring must have overflown: it has 16 MiB, and a wait of each of the four processes takes more than 64 bytes of it; and until much is lost of what
  # they do in all, five million waits on a quick machine.
  local storm before
  wait_for eval 'storm=$(pgrep -P "$(pgrep -P "$recorder" -x switch_storm)" | head -n 1) && [[ -n $storm ]]'
  switches() { awk '/^(non)?voluntary_ctxt_switches/ { sum += $2 } END { print sum + 0 }' "/proc/$storm/status" 2>/dev/null || echo 0; }
  before=$(switches)
  kill -STOP "$recorder"
  enough() { [[ ! -e /proc/$storm ]] || (($(switches) > before + 300000)); }
  wait_for enough
  kill -CONT "$recorder"
  wait_for_recorder || fail "record ended with $?"
  awk "BEGIN { print $(stolen) - $taken }" >taken
}

record_stopped --stats
python3 - err <<'PY' || fail "the account does not add up"
import re, sys
text = open(sys.argv[1]).read()
number = lambda pattern: int(re.search(pattern, text)[1].replace(",", ""))
kept = sum(int(line.rsplit(" ", 1)[1]) for line in open("x.folded"))
lost, by_all = number(r"([0-9,]+) +ns that the waits that were lost"), number(r"([0-9,]+) +ns waited, by all")
waited = int(re.search(r"^waited (\d+)", open("truth").read(), re.M)[1])
print(f"{kept / 1e9:.3f} s stored + {lost / 1e9:.3f} s lost = {(kept + lost) / 1e9:.3f} s; {by_all / 1e9:.3f} s by all waits, {waited / 1e9:.3f} s by the processes' clocks")
if lost < 0.05 * waited: sys.exit("hardly anything was lost: nothing was shown")
if abs(kept + lost - by_all) > 0.001 * by_all: sys.exit("not what all waits were")
if abs(kept + lost - waited) > 0.02 * waited + 1e9 * float(open("taken").read()): sys.exit("not what the processes say")
PY

record_stopped
python3 - err <<'PY' || fail "the summary does not say what was lost"
import re, sys
text = open(sys.argv[1]).read()
count, amount, unit = re.search(r"^  lost: ([0-9,]+) waits, ([0-9.]+) (s|ms)$", text, re.M).groups()
by_reason = sum(int(value.replace(",", "")) for value in re.findall(r"^ +([0-9,]+) +[0-9.]+ %  lost", text, re.M))
kept = sum(int(line.rsplit(" ", 1)[1]) for line in open("x.folded")) / 1e9
lost, waited = float(amount) * (1 if unit == "s" else 1e-3), int(re.search(r"^waited (\d+)", open("truth").read(), re.M)[1]) / 1e9
print(f"{count} waits, {lost} s lost; {kept:.3f} s stored, {waited:.3f} s by the processes' clocks")
if int(count.replace(",", "")) != by_reason: sys.exit(f"{by_reason:,} were lost, by the reasons")
if abs(kept + lost - waited) > 0.02 * waited + float(open("taken").read()): sys.exit("not what the processes say")
PY
