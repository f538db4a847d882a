# SPDX-License-Identifier: Apache-2.0
# bounded.py REPORT MEGABYTES SECONDS COMMAND…: kills the command, by its id, beyond either limit of memory and of time: CPU time, or five times as
# much in all (tests share the machine). Its parsers count: their memory as far as it is not shared with it, and their CPU time, also of those that
# have ended. Writes what it took into REPORT, and ends with its exit code.
import os, subprocess, sys, time

def cpu_time_of(pid):
    with open(f'/proc/{pid}/stat') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf('SC_CLK_TCK')  # with that of children it has waited for

def memory_of(pid):
    with open(f'/proc/{pid}/smaps_rollup') as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith('Pss:')) / 1024

# Its own processes: cicada, the zygote, the parsers; not the command that it records.
def tree_of(root):
    with open(f'/proc/{root}/task/{root}/children') as children:
        zygotes = [int(pid) for pid in children.read().split()]
    tree = [root]
    for zygote in zygotes:
        with open(f'/proc/{zygote}/comm') as comm:
            if comm.read() != 'cicada-zygote\n': continue
        with open(f'/proc/{zygote}/task/{zygote}/children') as children:
            tree += [zygote] + [int(pid) for pid in children.read().split()]
    return tree

report, megabytes, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
child = subprocess.Popen(sys.argv[4:])
begin = time.monotonic()
peak, cpu, beyond = 0, 0.0, ''
while child.poll() is None:
    memory = used = 0
    try:
        for pid in tree_of(child.pid):
            try:
                used += cpu_time_of(pid)
                memory += memory_of(pid)  # none of one that has ended
            except (OSError, StopIteration): pass
    except OSError: pass
    peak, cpu = max(peak, round(memory)), max(cpu, used)
    wall = time.monotonic() - begin
    if peak > megabytes: beyond = f'beyond {megabytes} MB'
    if max(cpu, wall / 5) > seconds: beyond = f'beyond {seconds:g} s'
    if beyond:
        child.kill()
        break
    time.sleep(0.01)
try:
    code = child.wait(None if not beyond else 5)
except subprocess.TimeoutExpired:
    code, beyond = 1, beyond + ' and cannot be killed'
with open(report, 'w') as out:
    print(f'{beyond or "kept within"}: {cpu:.1f} s of CPU, {time.monotonic() - begin:.1f} s, {peak} MB', file=out)
sys.exit(code if code >= 0 else 128 - code)
