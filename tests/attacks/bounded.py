# SPDX-License-Identifier: Apache-2.0
# bounded.py REPORT MEGABYTES SECONDS COMMAND…: kills the command, by its id, beyond either limit of resident memory and of time: CPU time,
# or five times as much in all (tests share the machine). Writes what it took into REPORT, and ends with its exit code.
import os, subprocess, sys, time

report, megabytes, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
child = subprocess.Popen(sys.argv[4:])
begin = time.monotonic()
peak, cpu, beyond = 0, 0.0, ''
while child.poll() is None:
    try:
        with open(f'/proc/{child.pid}/status') as status:
            peak = max([peak] + [int(line.split()[1]) // 1024 for line in status if line.startswith('VmRSS')])
        with open(f'/proc/{child.pid}/stat') as stat:
            cpu = sum(map(int, stat.read().rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')
    except OSError:
        pass
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
