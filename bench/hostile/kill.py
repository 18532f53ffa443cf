# SPDX-License-Identifier: MIT
"""Ranks killed with -9: who names whom, exit codes, seconds."""
import functools
import random
import signal
import time

from hostile.job import FOREVER, RANKS, Job, send_signal, violations

LIMIT = 60.0  # seconds from the last kill to the end of the job


@functools.cache
def speed(program, strategy):
    """Steps per second of an undisturbed job."""
    probe = 2000
    with Job(program, ["--strategy", strategy, "--steps", str(probe)]) as job:
        begin = time.monotonic()
        if job.end(LIMIT).code != 0:
            raise RuntimeError(f"{strategy} does not train undisturbed: {job.lines[-5:]}")
        return probe / (time.monotonic() - begin)


def steps_for(options, strategy, seconds):
    """Steps that take about so many seconds where the strategy goes on without lost ranks; else there is no end."""
    return str(max(2000, int(speed(options.program, strategy) * seconds)) if options.survives(strategy) else FOREVER)


def verdict(outcome, survives, victims):
    if wrong := violations(outcome):
        return wrong
    others = [rank for rank in range(RANKS) if rank not in victims]
    for victim in victims:
        if outcome.endings.get(victim) != "killed by signal 9":
            return f"rank {victim} is said to have ended with {outcome.endings.get(victim)}"
    wanted = 0 if survives else 3
    for rank in others:
        if outcome.endings.get(rank) != wanted:
            return f"rank {rank}: {outcome.endings.get(rank)} in place of exit {wanted}"
    if outcome.code != wanted:
        return f"the launcher exited with {outcome.code}"
    if survives:
        named = set().union(*outcome.counted_out.values())
        return "" if named == set(victims) else f"the summary names {sorted(named)} as lost"
    strangers = [rank for rank in others if not outcome.names(rank, victims[0])]
    return f"not named by {strangers}" if strangers else ""


def attack(options, strategy, victims):
    survives = options.survives(strategy)
    with Job(options.program, ["--strategy", strategy, "--steps", steps_for(options, strategy, 3)]) as job:
        ranks = job.begin()
        for victim in victims:
            time.sleep(random.random() * 0.2)
            killed = time.monotonic()
            send_signal(ranks[victim], signal.SIGKILL)
        outcome = job.end(LIMIT)
        # A run that goes on is over when it has trained; what counts there is when the first one says who is gone.
        over = job.says(rf"rank {victims[-1]} was lost|lost rank {victims[-1]}", 0) if survives else time.monotonic()
        return verdict(outcome, survives, victims), (over - killed) if over else None, outcome


def kill(options, table):
    """Each rank in turn under each strategy."""
    for strategy in options.strategies:
        first = random.randrange(RANKS)
        for turn in range(options.times * (1 if options.quick else RANKS)):
            table.run(strategy, "kill -9", lambda: attack(options, strategy, [(first + turn) % RANKS]))
        table.close()


def randomly(options, table):
    """Under strategies that go on: any one rank at any time, and three of four."""
    for strategy in filter(options.survives, options.strategies):
        for _ in range(options.times * (2 if options.quick else 11)):
            table.run(strategy, "kill -9 at random", lambda: attack(options, strategy, [random.randrange(RANKS)]))
        for _ in range(options.times * (1 if options.quick else RANKS)):
            three = random.sample(range(RANKS), RANKS - 1)
            table.run(strategy, "kill -9 of 3 of 4", lambda: attack(options, strategy, three))
        table.close()
