# SPDX-License-Identifier: Apache-2.0
# bounded.py REPORT MEGABYTES SECONDS COMMAND…: kills the command, by its id, beyond either limit of memory and of CPU time, or when it hangs. Its
# parsers count: their memory as far as it is not shared with it, and their CPU time, also of those that have ended. Writes what it took into REPORT
# (its id, while it runs), and ends with its exit code.
#
# Seconds are those of a calm machine: a fixed piece of work (PIECE) is measured before the command, and again before the command is
# blamed. Slower memory, a shared core or the hypervisor lengthen both.
#
# Of its wall time its "own" is what was left when a CPU was to be had: without what its threads waited in a queue for one (schedstat), and without
# what the hypervisor took.
import os, subprocess, sys, time

HANGS = 300
PIECE = 0.04  # seconds of CPU time that it takes on a calm machine
TICK = os.sysconf('SC_CLK_TCK')

def piece():
    begin = time.process_time()
    table = {}
    for i in range(200000): table[i * 2654435761 & 0xffff] = i
    for _ in range(4): bytes(4 << 20).count(b'x')
    return (time.process_time() - begin) / PIECE

def cpu_time_of(pid):
    with open(f'/proc/{pid}/stat') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return sum(map(int, fields[11:15])) / TICK  # with that of children it has waited for

def memory_of(pid):
    with open(f'/proc/{pid}/smaps_rollup') as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith('Pss:')) / 1024

# Thread: seconds in a queue.
def queued_of(pid, queued):
    for tid in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{tid}/schedstat') as account: queued[pid, tid] = int(account.read().split()[1]) / 1e9
        except OSError: pass

def stolen():
    with open('/proc/stat') as stat: return int(stat.readline().split()[8]) / TICK

# Its own processes: cicada, its reader, the zygote, the parsers; not the command that it records.
def tree_of(root):
    with open(f'/proc/{root}/task/{root}/children') as children:
        zygotes = [int(pid) for pid in children.read().split()]
    tree = [root]
    for zygote in zygotes:
        with open(f'/proc/{zygote}/comm') as comm:
            if comm.read() not in ('cicada-zygote\n', 'cicada-reader\n'): continue
        with open(f'/proc/{zygote}/task/{zygote}/children') as children:
            tree += [zygote] + [int(pid) for pid in children.read().split()]
    return tree

report, megabytes, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
slowness = max(1.0, piece(), piece())
stolen_before = stolen()
child = subprocess.Popen(sys.argv[4:])
with open(report, 'w') as out: print(f'running: {child.pid}', file=out)
begin = time.monotonic()
peak, cpu, queued, beyond = 0, 0.0, {}, ''
while child.poll() is None:
    memory = used = 0
    try:
        for pid in tree_of(child.pid):
            try:
                used += cpu_time_of(pid)
                queued_of(pid, queued)
                memory += memory_of(pid)  # none of one that has ended
            except (OSError, StopIteration): pass
    except OSError: pass
    peak, cpu = max(peak, round(memory)), max(cpu, used)
    if peak > megabytes: beyond = f'beyond {megabytes} MB'
    if cpu > seconds * slowness: slowness = max(slowness, piece())
    if cpu > seconds * slowness: beyond = f'beyond {seconds:g} s of CPU'
    if time.monotonic() - begin > HANGS: beyond = f'beyond {HANGS} s: it hangs'
    if beyond:
        child.kill()
        break
    time.sleep(0.01)
wall = time.monotonic() - begin
try:
    code = child.wait(None if not beyond else 5)
except subprocess.TimeoutExpired:
    code, beyond = 1, beyond + ' and cannot be killed'
own = wall - sum(queued.values()) - (stolen() - stolen_before)
with open(report, 'w') as out:
    print(f'{beyond or "kept within"}: {cpu / slowness:.1f} s of CPU ({slowness:.2f} of a calm machine\'s), {wall:.1f} s, {own:.1f} s of its own, {peak} MB', file=out)
sys.exit(code if code >= 0 else 128 - code)
