#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: hsperfdata_* perf-*.map
# Java as it is started everywhere, without a frame pointer: interpreted, compiled by either compiler, and changing from one to the other, from the first
# instruction on, and found while it runs. A thread that waits and one that computes, each below 21 calls of one method: not one is missing in any stack.
source "$(dirname "$0")/lib.sh"
command -v javac >/dev/null && command -v java >/dev/null || skip "no JDK"
cat >Chain.java <<'JAVA'
import java.util.concurrent.locks.LockSupport;
public class Chain {
  static volatile long sink;
  static int down(int n, boolean waits) { return n == 0 ? (waits ? waits() : computes()) : down(n - 1, waits) + n; }
  static int waits() { LockSupport.parkNanos(500_000); return 1; }
  static int computes() {
    long sum = 0;
    for (int i = 1; i < 20000; i++) sum += 12345 % i;
    sink = sum;
    return 2;
  }
  public static void main(String[] a) throws Exception {
    long end = System.nanoTime() + (long) (Double.parseDouble(a[0]) * 1e9);
    Thread waiter = new Thread(() -> { while (System.nanoTime() < end) down(20, true); }, "waiter");
    waiter.start();
    while (System.nanoTime() < end) down(20, false);
    waiter.join();
  }
}
JAVA
javac Chain.java
java=(java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp .)
events=(-e cpu-clock -e off-cpu)

# Of all user stacks nearly all are whole; and those of the two threads have all their calls. A method that is interpreted has the name of the interpreter.
judge() {
  local what=$1 whole
  whole=$("$CICADA" report recording.cicada | sed -nE 's/^complete +([0-9.]+) % of ([0-9,]+) user stacks.*/\1 \2/p' | tr -d ,)
  [[ -n $whole ]] || fail "$what: no word on completeness"
  awk -v what="$what" '{ if ($2 < 500) { print what ": " $2 " stacks only"; exit 1 } if ($1 < 99.5) { print what ": " $1 " % of " $2 " stacks are whole"; exit 1 } }' <<<"$whole" ||
    fail "stacks of $what"
  "$CICADA" convert --event off-cpu recording.cicada off.folded
  "$CICADA" convert --event cpu-clock recording.cicada on.folded
  awk -v what="$what" '
    FNR == 1 {file++}
    file == 1 ? /Unsafe_Park/ : /Chain\.computes/ {
      calls = gsub(/Chain\.down\(/, "&")
      interpreted = gsub(/;Interpreter/, "&")
      all[file] += $NF
      if (calls != 21 && calls + interpreted < 21) bad[file] += $NF
      if (what == "interpreted" && file == 1) of[interpreted] += $NF
    }
    END {
      for (i = 1; i <= (what == "interpreted" ? 1 : 2); i++) {
        if (!all[i]) { print what ": no stack of " (i == 1 ? "the thread that waits" : "the one that computes"); exit 1 }
        most = 0
        for (n in of) if (of[n] > most) most = of[n]
        if (what == "interpreted" && most < all[1] * 0.998) { printf "%s: %.2f %% have not all the same depth\n", what, 100 - 100 * most / all[1]; exit 1 }
        if (bad[i] > all[i] * 0.002) { printf "%s: %.2f %% have not all their calls\n", what, 100 * bad[i] / all[i]; exit 1 }
      }
    }' off.folded on.folded || fail "chains of $what"
}

for how in "interpreted -Xint" "C1 -XX:TieredStopAtLevel=1 -XX:-Inline" "C2 -XX:-TieredCompilation -XX:-Inline" "both -XX:-Inline"; do
  read -r name options <<<"$how"
  # shellcheck disable=SC2086
  "$CICADA" record -q --force -F 499 "${events[@]}" -o recording.cicada -- "${java[@]}" $options Chain 3 || fail "record of $name ended with $?"
  judge "$name"
done

start "${java[@]}" -XX:-Inline Chain 12
sleep 2
"$CICADA" record -q --force -F 499 "${events[@]}" -p "$pid" -o recording.cicada || fail "record -p ended with $?"
wait "$pid"
judge "a machine that ran already"
