# SPDX-License-Identifier: MIT
"""Cut links between four hosts, which are network namespaces on a switch (scripts/netns).

A direction is cut by a wrong hardware address: what the one host sends to the other is dropped on the way, and
nobody is told.
"""
import dataclasses
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable

from hostile.inside import DOOR, is_inside, run_inside
from hostile.job import GRACE, RANKS, Job, parent, send_signal, violations
from hostile.kill import steps_for

NOWHERE = "02:00:00:00:00:99"
LIMIT = 60.0  # seconds from the cut to the end of all: more than --timeout and the grace period


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, timeout=20)


def host(rank):
    return f"10.77.0.{rank + 1}"


def cut_direction(sender, receiver):
    ip("-n", host(sender), "neigh", "replace", host(receiver), "lladdr", NOWHERE, "nud", "permanent", "dev", "eth0")


def cut_pairs(some, others):
    for one in some:
        for other in others:
            cut_direction(one, other)
            cut_direction(other, one)


def mend():
    for rank in range(RANKS):
        ip("link", "set", f"host{rank + 1}", "up")
        ip("-n", host(rank), "neigh", "flush", "dev", "eth0", "nud", "permanent")


def lose_host(job, rank):
    """The host is gone with all that runs there: its cable, its rank, and what stands for its ssh."""
    ip("link", "set", f"host{rank + 1}", "down")
    process = job.ranks()[rank]
    node = parent(process)
    for pid in (node, process):
        send_signal(pid, signal.SIGKILL)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    may_go: tuple  # ranks that may have to go on account of it
    go: int  # how many of these
    ends: tuple  # ranks at an end of the cut: nobody else may be named
    alone: int  # rank that loses all others at once and has to look at home; -1: none
    do: Callable
    seconds: float = 3.0  # how long the run would have gone on
    quick: bool = True


CASES = [
    Case("cable of host 2 pulled", (2,), 1, (2,), 2, lambda job: ip("link", "set", "host3", "down")),
    Case("cable of host 0 pulled", (0,), 1, (0,), 0, lambda job: ip("link", "set", "host1", "down"), quick=False),
    Case("halves, 0 1 and 2 3", (2, 3), 2, (0, 1, 2, 3), -1, lambda job: cut_pairs([0, 1], [2, 3])),
    Case("one pair, 1 and 2", (2,), 1, (1, 2), -1, lambda job: cut_pairs([1], [2])),
    Case("one direction, 1 to 2", (1, 2), 1, (1, 2), -1, lambda job: cut_direction(1, 2)),
    Case("host 2 lost with all on it", (2,), 1, (2,), -1, lambda job: lose_host(job, 2),
         2 * GRACE),  # not over before a launcher that ends the others has waited for them
]
DEAD = (3, "lost", "killed by signal 9")  # what may become of a rank that goes


def named_by(outcome, rank):
    said = "\n".join(outcome.said_by(rank))
    return set(map(int, re.findall(rf"tacit: rank {rank} lost rank (\d+):", said)))


def verdict(outcome, survives, case):
    if wrong := violations(outcome):
        return wrong
    gone = [rank for rank in range(RANKS) if outcome.endings.get(rank) != 0]
    for rank in gone:
        if outcome.endings.get(rank) not in DEAD:
            return f"rank {rank}: {outcome.endings.get(rank)} in place of exit 3"
        if rank != case.alone and (innocent := named_by(outcome, rank) - set(case.ends)):
            return f"rank {rank} names {sorted(innocent)}"
    if survives and (len(gone) != case.go or not set(gone) <= set(case.may_go)):
        return f"gone: {gone or 'nobody'}"
    if survives and not outcome.hashes:
        return "nobody finished"
    if not survives and len(gone) < RANKS:
        return "some exited with 0"
    if case.alone >= 0 and not outcome.blames_itself(case.alone):
        return f"rank {case.alone} blames others"
    return ""


def attack(options, strategy, case):
    survives = options.survives(strategy)
    launch = ["--hosts", os.environ["NETNS_HOSTS"], "--ssh", os.environ["NETNS_SSH"]]
    limits = ["--lost-after", str(options.lost_after), "--stall", "10", "--timeout", "30"]
    steps = steps_for(options, strategy, case.seconds)
    mend()
    with Job(options.program, ["--strategy", strategy, "--steps", steps, *limits], launch) as job:
        job.begin()
        began = time.monotonic()
        case.do(job)
        outcome = job.end(LIMIT)
        ended = time.monotonic()
    settled = [at for at, line in outcome.lines if re.search(r"tacit: .*(is lost|was lost|lost rank)", line)]
    seconds = (max(settled, default=ended) if survives else ended) - began
    return verdict(outcome, survives, case), seconds, outcome


def cut(options, table):
    if not is_inside():
        return run_inside([DOOR.parent.parent / "scripts/netns", RANKS, "1gbit"], "cut", table)
    few = [name for name in options.strategies if options.survives(name)] + options.strategies[:1]
    for strategy in few if options.quick else options.strategies:
        for case in CASES:
            for _ in range(options.times if case.quick or not options.quick else 0):
                table.run(strategy, case.name, lambda: attack(options, strategy, case))
        table.close()
    table.note("seconds: from the cut until the last rank has said who is lost; where no rank goes on, to the end")
    return None
