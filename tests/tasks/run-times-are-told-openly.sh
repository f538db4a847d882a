#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a launched program is told is said in a line, can be refused, reaches what a shell starts, and leaves nothing in /tmp. Whose language is not
# shown gets the hint for it, launched or attached; who does not need one gets none.
source "$(dirname "$0")/lib.sh"
guard_shared_directories
maps() { find /tmp -maxdepth 1 -name 'perf-*.map' -newer "$T/begin" | sort; }
touch -d '1 second ago' begin
printf 'import os, time\ndef spin():\n  while time.process_time() < float(os.environ.get("SECONDS_", "1")): pass\nspin()\n' >spin.py

code 0 "$CICADA" record -F 499 -o x.folded -- sh -c 'env | grep -E "^(PYTHONPERF|NODE_OPT)"; python3 spin.py'
has out.txt '^PYTHONPERFSUPPORT=1$'
has out.txt '^NODE_OPTIONS=--perf-basic-prof'
has err.txt '^cicada: the command gets PYTHONPERFSUPPORT=1 and NODE_OPTIONS=.*--no-jit-options'
code 0 "$CICADA" record -F 499 -o x.folded --no-jit-options -- sh -c 'env | grep -cE "^(PYTHONPERF|NODE_OPT)" || true'
has out.txt '^0$'
lacks err.txt 'the command gets'
code 0 "$CICADA" record -o x.folded -- true
lacks err.txt 'the command gets'
PYTHONPERFSUPPORT=0 code 0 "$CICADA" record -qo x.folded -- python3 -c 'import os; print(os.environ["PYTHONPERFSUPPORT"])'
has out.txt '^0$'

# Maps are removed, those of processes that were never sampled, too; one that was there before is not ours.
cat >writes.py <<'PY'
import os, subprocess, sys
open(f"/tmp/perf-{os.getpid()}.map", "w").write("1000 10 py::f:/a.py\n")
if len(sys.argv) < 2:
  for _ in range(5): subprocess.run([sys.executable, sys.argv[0], "child"])
PY
other=/tmp/perf-4194999.map
: >"$other"
at_exit 'rm -f "$other"'
code 0 "$CICADA" record -o x.folded -- sh -c 'python3 writes.py; true'
[[ $(maps) == "$other" ]] || fail "left behind: $(maps)"
code 0 "$CICADA" bench -q -o results -- python3 -S writes.py
[[ $(maps) == "$other" ]] || fail "bench left behind: $(maps)"
code 0 "$CICADA" record --no-jit-options -o x.folded -- python3 -S writes.py
[[ $(maps | wc -l) == 7 ]] || fail "removed what cicada did not ask for: $(maps)"
maps | grep -vxF "$other" | xargs rm -f

# Hints. Python below 3.12 has none but to be newer.
python=/usr/bin/python3
"$python" -c 'import sys; exit(sys.version_info >= (3, 12))' || python=
if [[ -n $python ]]; then
  code 0 "$CICADA" record -F 499 -o x.folded -- "$python" spin.py
  has err.txt 'Python functions are not shown; restart it as `python3 -X perf`'
  SECONDS_=$FOREVER start "$python" spin.py
  let_work 0.1 "$pid"  # it is Python by now
  record_while_working 0.5 "$pid" -F 499 -o x.folded -p "$pid"
  has err 'Python functions are not shown'
  lacks err '(Perl|Ruby|PHP|JavaScript|Java) functions'
fi
code 0 "$CICADA" record -q -F 499 -o x.cicada -- perl -e 'while ((times)[0] < 1) { $x++ }'
[[ ! -s err.txt ]] || fail "-q: $(<err.txt)"
code 0 "$CICADA" report x.cicada
has out.txt '^warning +perl \(process [0-9]+\): Perl functions are not shown; `perl -d:NYTProf`'
lacks out.txt 'Python functions'
code 0 "$CICADA" record -F 499 -o x.folded -- "$WORKLOADS/split" 0.5
lacks err.txt 'functions are not shown'
cp "$WORKLOADS/split" python3
code 0 "$CICADA" record -F 499 -o x.folded -- ./python3 0.5  # a name is not a language
lacks err.txt 'functions are not shown'
