#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --user, --comm, --thread-name, --cgroup, --children: the kernel side takes samples of these only, of every event; what it leaves out is counted.
source "$(dirname "$0")/lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"
nobody=$(id -u nobody)

# only TEXT FOLDED: there are stacks, and all of them begin so.
only() { awk -v begin="$1" 'index($0, begin) != 1 { bad++ } END { exit !(NR > 0 && bad == 0) }' "$2"; }
record() { "$CICADA" record -q -F 499 -d 0.5 --force -o x.folded "$@" 2>err || fail "record $* ended with $?"; }

start setpriv --reuid="$nobody" --clear-groups "$WORKLOADS/split" "$FOREVER"
theirs=$pid
start "$WORKLOADS/recursion" "$FOREVER"
ours=$pid
start "$WORKLOADS/waits" "$FOREVER"
threads=$pid
wait_for eval '[[ $(cat /proc/$theirs/comm /proc/$ours/comm) == split*recursion && $(cat /proc/$threads/task/*/comm | grep -c -e "^stays" -e "^computes") == 5 ]]'

"$CICADA" record --stats -e cpu-clock -F 499 -d 0.5 --user nobody -o x.folded -o x.txt --by user,process 2>err || fail "record --user ended with $?"
only "nobody;split ($theirs)" x.folded || fail "--user nobody: $(cut -d';' -f1,2 x.folded | sort -u)"
python3 -B "$LIVE/accounting.py" err x.txt cpu-clock=499 || fail "the account does not add up"
record --user "$nobody,0" --by user
grep -q '^nobody;' x.folded && grep -q '^root;' x.folded || fail "--user of two: $(cut -d';' -f1 x.folded | sort -u)"
record --comm recursion --by process && only "recursion ($ours)" x.folded || fail "--comm recursion: $(cut -d';' -f1 x.folded | sort -u)"
record --comm 'rec*,spl*' --by program && only recursion <(grep -v '^split;' x.folded) || fail "--comm of two: $(cut -d';' -f1 x.folded | sort -u)"
"$CICADA" record -q -F 499 -d 0.2 --comm recursio -o none.folded 2>err && [[ ! -s none.folded ]] || fail "a part of a name was taken for it"
record -p "$threads" --thread-name computes --by thread && only "computes (" x.folded || fail "--thread-name: $(cut -d';' -f1 x.folded | sort -u)"
# All that is asked must fit.
"$CICADA" record -q -F 499 -d 0.2 --comm recursion --user nobody -o none.folded 2>err && [[ ! -s none.folded ]] || fail "root's recursion was taken for nobody's"

# Waits, too: those that end, and one that does not.
record -e off-cpu --thread-name 'stay*,sleeps' --by thread
[[ $(cut -d' ' -f1 x.folded | sort -u | tr '\n' ' ') == "sleeps stays stays_on_a_file " ]] || fail "off-cpu --thread-name: $(cut -d';' -f1 x.folded | sort -u)"

# Of a process those that it has started before.
start bash -c '"$0" "$1" & wait' "$WORKLOADS/split" "$FOREVER"
wait_for eval '[[ $(cat /proc/$(pgrep -P $pid)/comm) == split ]]'
child=$(pgrep -P "$pid")
started+=("$child")
"$CICADA" record -q -F 499 -d 0.2 -p "$pid" -o none.folded 2>err && [[ ! -s none.folded ]] || fail "-p of a shell is its child"
record -p "$pid" --children --by process && only "split ($child)" x.folded || fail "--children: $(cut -d';' -f1 x.folded | sort -u)"

# A control group, and what is below it; by its path, and as a container's.
groups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
if [[ -z $groups ]]; then
  groups=$T/groups
  mkdir "$groups"
  mount -t cgroup2 none "$groups"
  at_exit 'umount "$groups"'
fi
id=$(printf '%s' "$T" | sha256sum | cut -c1-64)
group=$groups/$(basename "$T")
mkdir -p "$group/docker-$id.scope/inner" "$group/beside"
at_exit 'kill -KILL "${started[@]}" 2>/dev/null; wait; find "$group" -depth -type d -exec rmdir {} +'
echo "$ours" >"$group/docker-$id.scope/inner/cgroup.procs"
echo "$theirs" >"$group/beside/cgroup.procs"
for asked in "${group#"$groups"}/docker-$id.scope" "$group/docker-$id.scope/inner/" "${id:0:12}"; do
  record --cgroup "$asked" --by process && only "recursion ($ours)" x.folded || fail "--cgroup $asked: $(cut -d';' -f1 x.folded | sort -u)"
done
record --cgroup "$group" --by process
[[ $(cut -d';' -f1 x.folded | sort -u | wc -l) == 2 ]] || fail "--cgroup of the upper one: $(cut -d';' -f1 x.folded | sort -u)"
start sleep "$FOREVER"
echo "$pid" >"$group/docker-$id.scope/cgroup.procs"
wait_for eval '[[ $(cat /proc/$pid/comm) == sleep ]]'
record -e off-cpu --cgroup "${id:0:12}" --comm sleep --by process && only "sleep ($pid)" x.folded || fail "off-cpu --cgroup: $(cat x.folded)"

# What cannot be meant: one line that says what to do, and nothing is written.
refused() {
  local why=$1
  shift
  "$CICADA" record -d 0.1 -o none.svg "$@" 2>err && fail "$* was taken"
  [[ $(wc -l <err) == 1 && ! -e none.svg ]] && grep -q "$why" err || fail "$*: not '$why'"
}
refused 'no such user' --user nobody-of-that-name
refused 'no such control group' --cgroup no/such
refused 'no such control group' --cgroup ../../etc
refused 'no control group below .* has that in its name' --cgroup 0123456789abcdef0123
mkdir "$group/docker-$id.other"
refused '2 control groups' --cgroup "${id:0:12}"
refused 'too many' --comm "$(seq -s, 1 17)"
refused 'nothing is named' --comm ,
refused 'goes with -p' --children -a
