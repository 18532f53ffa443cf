# SPDX-License-Identifier: MIT
"""A rank starts another process and is killed: what stays open there must not hide its death."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from hostile.job import FOREVER, RANKS, Job, eventually, send_signal, violations

SOURCE = pathlib.Path(__file__).resolve().parent / "spawn_later.c"
VICTIM = 2
NOTICED = 1.0  # seconds; a closed connection is seen at once


def attack(options, strategy, folder):
    library = folder / "spawn_later.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-pthread"], check=True, timeout=60)
    go = folder / "go"
    load = f"export HOSTILE_GO={go} LD_PRELOAD={library}"
    wrapper = ["sh", "-c", f'[ "$TACIT_RANK" != {VICTIM} ] || {load}; exec "$@"', "sh"]
    train = ["--strategy", strategy, "--steps", str(FOREVER), "--lost-after", "6"]
    with Job(options.program, train, wrapper=wrapper) as job:
        ranks = job.begin()
        go.touch()
        if not eventually((folder / "go.done").exists, 20):
            raise RuntimeError("the rank started nothing")
        heirs = [pid for pid in job.processes() if pid not in ranks.values()]
        open_there = sum(len(descriptors(pid)) for pid in heirs)
        killed = time.monotonic()
        send_signal(ranks[VICTIM], signal.SIGKILL)
        # The first word of another rank; the launcher sees the end of its own child whatever is left open.
        noticed = job.says(rf"^\[[^{VICTIM}]\] tacit: .*lost", 30)
        if options.survives(strategy):
            job.process.terminate()
        outcome = job.end(30)
    seconds = (noticed or time.monotonic()) - killed
    if outcome.code is None or not noticed:
        return "no end" if outcome.code is None else "nobody noticed", seconds, outcome
    wrong = violations(outcome)
    if not options.survives(strategy):
        silent = [rank for rank in range(RANKS) if rank != VICTIM and not outcome.names(rank, VICTIM)]
        wrong = wrong or (f"not named by {silent}" if silent else "")
    wrong = wrong or (f"{open_there} descriptors inherited" if open_there else "")
    return wrong or ("" if seconds < NOTICED else "noticed late"), seconds, outcome


def descriptors(pid):
    """Those of a process beyond stdin, stdout and stderr."""
    try:
        return [number for number in os.listdir(f"/proc/{pid}/fd") if int(number) > 2]
    except OSError:
        return []


def inherit(options, table):
    if not shutil.which("cc"):
        return table.note("inherit: left out; there is no C compiler")
    for strategy in ["ssgd", "gossip"]:
        for _ in range(options.times * (1 if options.quick else 3)):
            with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
                table.run(strategy, "a rank starts `sleep` and is killed",
                          lambda: attack(options, strategy, pathlib.Path(folder)))
        table.close()
    return table.note("seconds: from the kill until another rank says who is lost")
