# SPDX-License-Identifier: MIT
"""Ranks stopped past --lost-after: no two may finish with different weights, and nobody waits for ever."""
import signal
import time

from hostile.job import GRACE, RANKS, Job, send_signal, violations
from hostile.kill import steps_for

LIMIT = 30.0  # seconds to the end of all; longer than the grace period and what follows it


def verdict(outcome, survives, victim, continued):
    if wrong := violations(outcome):
        return wrong
    wanted = 0 if survives else 3
    for rank in range(RANKS):
        if rank != victim and outcome.endings.get(rank) != wanted:
            return f"rank {rank}: {outcome.endings.get(rank)} in place of exit {wanted}"
        if rank != victim and not survives and not outcome.names(rank, victim):
            return f"rank {rank} does not name the stopped one"
    if not continued:  # the launcher has to end it
        return "" if "killed by signal" in str(outcome.endings.get(victim)) else "the stopped one was not ended"
    if outcome.endings.get(victim) != 3:
        return f"the stopped one: {outcome.endings.get(victim)} in place of exit 3"
    return "" if outcome.blames_itself(victim) else "the stopped one blames others"


def attack(options, strategy, victim, continued):
    survives = options.survives(strategy)
    # Continued while the others still train; never continued, the others are done soon.
    steps = steps_for(options, strategy, 4 * options.lost_after if continued else 2)
    limits = ["--lost-after", str(options.lost_after), "--stall", "10", "--timeout", "40"]
    with Job(options.program, ["--strategy", strategy, "--steps", steps, *limits]) as job:
        ranks = job.begin()
        send_signal(ranks[victim], signal.SIGSTOP)
        stopped = time.monotonic()
        if continued:
            time.sleep(2.5 * options.lost_after)
            send_signal(ranks[victim], signal.SIGCONT)
            over = time.monotonic()
        else:
            over = job.says(r"\] status +finished", LIMIT) if survives else stopped + options.lost_after
        outcome = job.end(LIMIT)
        seconds = time.monotonic() - over if over else None
        wrong = verdict(outcome, survives, victim, continued)
        slow = GRACE + 5 + 5 + options.lost_after  # grace, from SIGTERM to SIGKILL, a busy machine
        if not wrong and not continued and seconds and seconds > slow:
            wrong = "the launcher waited longer than its grace period"
        return wrong, seconds, outcome


def stop(options, table):
    victims = [2] if options.quick else [0, 2]
    for strategy in options.strategies:
        for victim in victims * options.times:
            table.run(strategy, "SIGSTOP, then SIGCONT", lambda: attack(options, strategy, victim, continued=True))
            if options.survives(strategy) or not options.quick:
                table.run(strategy, "SIGSTOP for ever", lambda: attack(options, strategy, victim, continued=False))
        table.close()
    table.note("seconds: from SIGCONT, or from the survivors' report, to the end of all")
