#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: hsperfdata_* perf-*.map
# Java writes its perf map when it ends, a moment before the process is gone; compiled methods have their names all the same. A JVM
# without a map: the summary says how to restart it.
source "$(dirname "$0")/lib.sh"
command -v javac >/dev/null && command -v java >/dev/null || skip "no JDK"
cat >App.java <<'JAVA'
public class App {
  static long hot(int n) {
    long sum = 0;
    for (int i = 1; i < n; i++) sum += n % i;
    return sum;
  }
  public static void main(String[] a) {
    var thread = java.lang.management.ManagementFactory.getThreadMXBean();
    long end = thread.getCurrentThreadCpuTime() + (long) (Double.parseDouble(a[0]) * 1e9), sum = 0;
    while (thread.getCurrentThreadCpuTime() < end) sum += hot(10000);
    System.out.println(sum > 0);
  }
}
JAVA
javac App.java
java=(java -Xshare:auto -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,App::hot -cp .)
"$CICADA" record -F 499 -o named.folded -- "${java[@]}" -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit App 3 >out 2>err ||
  fail "record -- java ended with $?"
grep -q true out || fail "the program's output is not its own: $(cat out)"
all=$(awk '{n += $NF} END {print n + 0}' named.folded)
hot=$(awk '/App\.hot\(int\)/ {n += $NF} END {print n + 0}' named.folded)
((all >= 300)) || fail "$all samples only"
((hot * 2 > all)) || fail "$hot of $all samples are in App.hot"

"$CICADA" record -F 499 -o plain.folded -- "${java[@]}" App 2 >out 2>err || fail "record -- java ended with $?"
! grep -q 'App\.hot' plain.folded || fail "the test is none: this java always writes a map"
grep -q DumpPerfMapAtExit err || fail "no word on how to restart java"
