"""Runs a command and writes, to file descriptor 3, its process ID and start, and at its end what it used.

Usage: measure_child.py PROGRAM ARGUMENT...
Times are in nanoseconds of CLOCK_MONOTONIC, which is Node's process.hrtime. Descendants that the command waited for are counted.
"""

import json
import os
import sys
import time


def write(values):
    os.write(3, (json.dumps(values) + "\n").encode())


def own_peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


os.set_inheritable(3, False)
start = time.monotonic_ns()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
write({"pid": child, "startNs": start})
# A pipe ends when all have closed it.
os.close(0)
os.close(1)
_, status, usage = os.wait4(child, 0)
write(
    {
        "endNs": time.monotonic_ns(),
        "exitCode": os.waitstatus_to_exitcode(status),
        "cpuMs": 1000 * (usage.ru_utime + usage.ru_stime),
        "peakBytes": 1024 * usage.ru_maxrss,
        # A child begins with the peak of the memory that it leaves at exec (setmax_mm_hiwater_rss), which is this program's.
        "leastBytes": own_peak(),
    }
)
