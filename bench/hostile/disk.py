# SPDX-License-Identifier: MIT
"""The account of a run, --out, where the disk is full, the launcher killed, or rank 0 gone."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from hostile.inside import is_inside, run_inside
from hostile.job import Job, eventually, send_signal, violations
from hostile.kill import steps_for

LIMIT = 60.0


def account(folder):
    """Status in summary.json and in the last line of run.jsonl; None for one that is not there or not whole."""
    def read(file, last):
        try:
            text = (folder / file).read_text()
            return json.loads(text.splitlines()[-1] if last else text).get("status")
        except (OSError, ValueError, IndexError):
            return None
    return read("summary.json", False), read("run.jsonl", True)


def fill(folder):
    with open(folder / "ballast", "wb") as file:
        try:
            while True:
                os.write(file.fileno(), b"\0" * 4096)
        except OSError:
            pass


def full_disk(options, strategy, folder, from_the_start):
    """Warns once, trains on, and its exit code tells whether there is a summary."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
    try:
        if from_the_start:
            fill(folder)
        train = ["--strategy", strategy, "--out", str(folder), "--epochs", "20"]
        with Job(options.program, train) as job:
            if not from_the_start and job.says(r"^\[0\] epoch 1\.00", 60):
                fill(folder)
            outcome = job.end(LIMIT)
        there = account(folder)[0] == "finished"
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
    warned = sum(bool(re.search("tacit: warning: .*(disk|space|cannot write)", line)) for _, line in outcome.lines)
    if wrong := violations(outcome):
        return wrong, None, outcome
    if not outcome.hashes:
        return f"training ended, exit {outcome.code}", None, outcome
    if any(outcome.counted_out.values()):
        return f"the rank with the disk failed, exit {outcome.code}", None, outcome
    if there != (outcome.code == 0):
        return f"exit {outcome.code} with{'' if there else 'out'} summary.json", None, outcome
    return "" if warned == 1 else f"warned {warned} times", None, outcome


def launcher_killed(options, strategy, folder):
    """The ranks end by themselves and leave an account."""
    with Job(options.program, ["--strategy", strategy, "--out", str(folder), "--steps", "100000000"]) as job:
        ranks = job.begin()
        time.sleep(0.3)
        killed = time.monotonic()
        job.process.kill()
        gone = eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()), 20)
        seconds = time.monotonic() - killed
    if not gone:
        return "ranks outlive the launcher", seconds, None
    summary, log = account(folder)
    if summary != log or summary not in ("interrupted", "failed"):
        return f"summary.json says {summary}, run.jsonl {log}", seconds, None
    return "", seconds, None


def rank_0_killed(options, strategy, folder):
    """The lowest that lives writes the account, or the exit code says that there is none."""
    train = ["--strategy", strategy, "--out", str(folder), "--steps", steps_for(options, strategy, 3)]
    with Job(options.program, train) as job:
        send_signal(job.begin()[0], signal.SIGKILL)
        outcome = job.end(LIMIT)
    if wrong := violations(outcome):
        return wrong, None, outcome
    summary, log = account(folder)
    if outcome.code == 0 and (summary, log) != ("finished", "finished"):
        return f"exit 0; summary.json says {summary}, run.jsonl {log}", None, outcome
    return "", None, outcome


def disk(options, table):
    if not is_inside():  # mounts that nobody else sees, and that go with the process
        if subprocess.run(["unshare", "--mount", "true"], check=False, timeout=20).returncode != 0:
            return table.note("disk: left out; this needs root with the right to mount")
        return run_inside(["unshare", "--mount"], "disk", table)
    few = ["ssgd", *filter(options.survives, options.strategies)]
    kills = 2 if options.quick else 6
    for strategy in few:
        attacks = [("disk full from the start", lambda out: full_disk(options, strategy, out, True), 1),
                   ("disk full after an epoch", lambda out: full_disk(options, strategy, out, False), 1),
                   ("launcher killed with -9", lambda out: launcher_killed(options, strategy, out), kills)]
        if options.survives(strategy):
            attacks.append(("rank 0 killed with -9", lambda out: rank_0_killed(options, strategy, out), 2))
        for what, once, times in attacks:
            for _ in range(times * options.times):
                with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
                    table.run(strategy, what, lambda: once(pathlib.Path(folder)))
        table.close()
    return None
