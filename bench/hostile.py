#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What killed and stopped ranks, cut cables, full disks, short memory and strangers do to a job, with real processes.

  kill       each rank under each strategy is killed with -9: who names whom, exit codes, seconds
  random     under strategies that go on: one rank at random, and three of four
  stop       SIGSTOP past --lost-after, with and without SIGCONT
  cut        a host, halves, one pair, one direction, a host with all on it: hosts are network namespaces (root)
  disk       a full disk, the launcher killed, rank 0 killed: is there an account? (root: mounts a tmpfs)
  memory     little memory, and a stranger of another user who wants to read root's memory (root)
  strangers  silent ones by the thousand while the ranks meet, garbage while they meet and train
  inherit    a rank starts a process and is killed: how long until the others know?
  files      symbolic links where files are written, a deeply nested file, escape codes in a hello
  all        all of these

A line per strategy and attack says how many runs went as they should, and what went wrong in the others. Exit code 0:
all was right. Every wait has a limit; whatever is started is ended, and namespaces and mounts go with the process.
"""
import argparse
import os
import pathlib
import signal
import sys

from hostile import cut, disk, files, inherit, kill, memory, stop, strangers, wire
from hostile.table import Table

ATTACKS = {"kill": kill.kill, "random": kill.randomly, "stop": stop.stop, "cut": cut.cut, "disk": disk.disk,
           "memory": memory.memory, "strangers": strangers.strangers, "inherit": inherit.inherit, "files": files.files}
STRATEGIES = "ssgd ssgd:servers=2 local compskip ssd dc_s3gd gossip wagma asgd easgd"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*ATTACKS, "all"])
    parser.add_argument("--program", default="build/release/tacit", help="default: %(default)s")
    parser.add_argument("--strategies", default=STRATEGIES, help="with blanks between; default: %(default)s")
    parser.add_argument("--survivors", default="gossip wagma asgd easgd", help="those that go on without a lost rank: %(default)s")
    parser.add_argument("--only", default="", help="those attacks whose name has this in it")
    parser.add_argument("--times", type=int, default=1, help="each attack so many times; default: %(default)s")
    parser.add_argument("--count", type=int, default=3000, help="strangers: how many are silent")
    parser.add_argument("--lost-after", type=float, default=3.0, help="of the jobs, in seconds; default: %(default)s")
    parser.add_argument("--wire", type=int, default=wire.version(), help="version that strangers speak: %(default)s")
    parser.add_argument("--quick", action="store_true", help="fewer ranks, strategies and turns: ten minutes for all")
    parser.add_argument("--verbose", action="store_true", help="the lines of runs that went wrong, on stderr")
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    options.strategies = options.strategies.split()
    survivors = options.survivors.split()
    options.survives = lambda strategy: strategy.split(":")[0] in survivors
    if not os.access(options.program, os.X_OK):
        parser.error(f"there is no program {options.program}; build it or give --program")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    table = Table(options.only, options.verbose)
    for name in ATTACKS if options.what == "all" else [options.what]:
        ATTACKS[name](options, table)
    return 0 if table.all_right else 1


if __name__ == "__main__":
    sys.exit(main())
