# SPDX-License-Identifier: MIT
"""Little memory, and a stranger who wants a rank to read memory that is not his."""
import collections
import ctypes
import os
import pwd
import re
import secrets
import socket
import subprocess
import tempfile

from hostile import stranger
from hostile.job import TASK, Job, eventually, status

LIMIT = 60.0
BARE = r"tacit: (std::bad_alloc|Resource temporarily unavailable|Cannot allocate memory)$"  # says not what was wanted


def limited(megabytes):
    """A shell that gives rank 1 so much address space."""
    return ["sh", "-c", f'[ "$TACIT_RANK" != 1 ] || ulimit -v {megabytes * 1024}; exec "$@"', "sh"]


def address_space(options, strategy):
    """What a rank takes undisturbed, in MiB."""
    with Job(options.program, ["--strategy", strategy, "--steps", "100000000"]) as job:
        return status(job.begin()[1], "VmPeak") // 1024


def short(options, strategy, megabytes, how):
    """A rank without memory says what it wanted, or trains; it is not aborted, and nobody waits for it."""
    with Job(options.program, ["--strategy", strategy, "--steps", "500"], wrapper=limited(megabytes)) as job:
        outcome = job.end(LIMIT)
    if outcome.code is None:
        return "no end", None, outcome
    ending = outcome.endings.get(1)
    how[ending] += 1
    if isinstance(ending, str):
        return ending, None, outcome
    said = "\n".join(outcome.said_by(1))
    if ending != 0 and (bare := re.search(BARE, said, re.M)):
        return f"says only {bare[1]!r}", None, outcome
    return "" if ending == 0 or said else f"exit {ending} without a word", None, outcome


def join_as(options, user, insecure):
    """How far a stranger of that user comes with a job of ours that has no key, and what rank 0 says about it."""
    secret = ctypes.create_string_buffer(secrets.token_bytes(16), 16)  # in this process, which is root's
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    job = "hostile" + secrets.token_hex(6)
    where = f"tcp://127.0.0.1:{port}"
    environment = dict(os.environ, TACIT_RANK="0", TACIT_SIZE="2", TACIT_JOB=job, TACIT_RENDEZVOUS=where)
    command = [options.program, "train", *TASK, "--steps", "1000", "--timeout", "10", *insecure]
    with tempfile.TemporaryFile() as said:
        rank = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said,
                                stderr=subprocess.STDOUT)
        try:
            if not eventually(lambda: listens(port), 30):
                raise RuntimeError("rank 0 does not listen")
            came = stranger.attempt_as(pwd.getpwnam(user), port, job, os.getpid(), ctypes.addressof(secret), secret.raw,
                                       options.wire)
        finally:
            rank.kill()
            rank.wait()
        said.seek(0)
        log = said.read().decode(errors="replace").splitlines()
    return came, [line for line in log if "warning" in line or "nobody" in line or "user" in line]


def listens(port):
    with open("/proc/net/tcp", encoding="utf-8") as file:
        return any(f":{port:04X} 00000000:0000 0A" in line for line in file)


def memory(options, table):
    for strategy in ["ssgd"] if options.quick else ["ssgd", "gossip", "wagma"]:
        peak = address_space(options, strategy)
        turns = 12 if options.quick else 61
        how = collections.Counter()
        for turn in range(turns * options.times):
            limit = int(peak * (0.10 + 0.40 * (turn % turns) / (turns - 1)))
            table.run(strategy, "little address space", lambda: short(options, strategy, limit, how))
        table.close()
        table.note(f"an undisturbed rank takes {peak} MiB of address space; the limits were 10 % to 50 % of that; "
                   f"rank 1: {dict(how)}")
    if os.getuid() != 0:
        return table.note("as another user: left out; this needs root")
    for user, how, insecure in [("nobody", "no key", []), ("nobody", "--insecure-plaintext", ["--insecure-plaintext"]),
                                ("root", "no key", [])]:
        def once():
            came, log = join_as(options, user, insecure)
            table.note(f"{user}, {how}: {came}" + "".join(f"\n    {line}" for line in log[:3]))
            bad = {"READ": "another process was read", "the stranger failed": came}
            # Whom the option lets in is the affair of who gives it; whose memory is read is not.
            if user == "nobody" and not insecure:
                bad["in, "] = "let in"
            return next((bad[words] for words in bad if came.startswith(words)), ""), None, None
        table.run("", f"{user} joins root's job on loopback, {how}", once)
    return table.close()
