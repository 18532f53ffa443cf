# SPDX-License-Identifier: MIT
"""Strangers at the door of a job: silent, with half a handshake, too many for its descriptors, with garbage."""
import os
import pathlib
import resource
import socket
import statistics
import tempfile
import threading
import time

from hostile.job import Job, environment, eventually, status

START = 5.0  # seconds within which a job has to start, whoever else is at the door
LIMIT = 30.0  # seconds that a job is waited for
# A TLS record that announces 512 bytes of client hello, and the first of them.
HALF_A_HANDSHAKE = bytes.fromhex("1603010200010001fc0303")


def late(folder, descriptors=0):
    """A shell in which rank 0 starts at once and the others when a file `go` is there."""
    few = f"ulimit -n {descriptors};" if descriptors else ""
    wait = f"while [ ! -e {folder}/go ]; do sleep 0.05; done"
    return ["sh", "-c", f'if [ "$TACIT_RANK" = 0 ]; then {few} :; else {wait}; fi; exec "$@"', "sh"]


def door(job):
    """Process of rank 0, which is waiting for the others, and the port where it does."""
    def look():
        pid = job.ranks().get(0)
        return pid if pid and len(os.listdir(f"/proc/{pid}/task")) > 0 else None
    pid = eventually(look, 30)
    if not pid:
        raise RuntimeError("rank 0 did not start")
    time.sleep(0.5)  # until it has read its options and looks after its door
    return pid, int(environment(pid)["TACIT_RENDEZVOUS"].rsplit(":", 1)[1])


class Crowd:
    """Connections that say a few bytes at most and then nothing; the kernel's queue has those that nobody accepts."""

    def __init__(self, port, count, words=b"", addresses=1):
        self.links = []
        for index in range(count):
            link = socket.socket()
            link.setblocking(False)
            link.bind((f"127.0.{index % addresses // 250}.{index % addresses % 250 + 1}", 0))
            link.connect_ex(("127.0.0.1", port))
            self.links.append(link)
            if index % 50 == 49:
                time.sleep(0.005)
        time.sleep(0.3)
        for link in self.links if words else []:
            try:
                link.send(words)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for link in self.links:
            link.close()


def silent(options, addresses, words=b""):
    """Seconds until the job starts."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, \
            Job(options.program, ["--steps", "500"], wrapper=late(folder)) as job:
        _, port = door(job)
        with Crowd(port, options.count, words, addresses):
            pathlib.Path(folder, "go").touch()
            came = time.monotonic()
            started = job.says(r"^\[0\] +\d+ %  step|^\[0\] epoch", LIMIT)
            seconds = (started or time.monotonic()) - came
            outcome = job.end(LIMIT if started else 0)
    if not started:
        blamed = next((line for _, line in outcome.lines if "key" in line and "tacit:" in line), "")
        return "does not start" + ("; the key is blamed" if blamed else ""), seconds, outcome
    if outcome.code != 0:
        return f"exit {outcome.code}", seconds, outcome
    return "" if seconds < START else f"starts after more than {START:.0f} s", seconds, outcome


def kilobytes_each(options, words):
    """What rank 0 takes per stranger while it talks to 256 of them, or to as many as it does."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, \
            Job(options.program, ["--steps", "10"], wrapper=late(folder)) as job:
        pid, port = door(job)
        before, open_before = status(pid, "VmRSS"), len(os.listdir(f"/proc/{pid}/fd"))
        with Crowd(port, 256, words, 256):
            time.sleep(1)
            guests = len(os.listdir(f"/proc/{pid}/fd")) - open_before
            return (status(pid, "VmRSS") - before) / max(guests, 1), guests


def no_descriptors(options):
    """Share of a core that rank 0 uses while it has no descriptor left for those who come."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, \
            Job(options.program, ["--steps", "500"], wrapper=late(folder, 40)) as job:
        pid, port = door(job)
        with Crowd(port, 200, b"", 200):
            share = (ticks(pid), time.sleep(2), ticks(pid))
            busy = (share[2] - share[0]) / os.sysconf("SC_CLK_TCK") / 2
        pathlib.Path(folder, "go").touch()
        outcome = job.end(LIMIT)
    if busy > 0.2:
        return f"busy: {100 * busy:.0f} % of a core", None, outcome
    return "" if outcome.code == 0 else f"exit {outcome.code}", None, outcome


def ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def throw_at(port, index, results):
    """One stranger: garbage, HTTP, half a hello, or a TLS hello of somebody without the key."""
    words = [os.urandom(2000), b"GET / HTTP/1.1\r\n\r\n", b"TCIT\x01\x04\0\0" + b"\0" * 8 + b"\x40",
             bytes.fromhex("16030100c8010000c40303") + os.urandom(190), b""]
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
            link.sendall(words[index % len(words)])
            heard = link.recv(4096)
            results.append("let in" if heard.startswith(b"TCIT\x01\x05") else "sent away")
    except ConnectionRefusedError:
        results.append("refused")
    except OSError:
        results.append("sent away")


def garbage(options, count, disturbed, results):
    """Samples per second of a job, with `count` strangers, half of them while it meets, or with none."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, \
            Job(options.program, ["--steps", "3000"], wrapper=late(folder)) as job:
        _, port = door(job)
        for index in range(count if disturbed else 0):
            threading.Thread(target=throw_at, args=(port, index, results), daemon=True).start()
            time.sleep(0.001)
            if index == count // 2:
                pathlib.Path(folder, "go").touch()
        pathlib.Path(folder, "go").touch()
        outcome = job.end(LIMIT)
    speed = [line.split()[-1] for line in outcome.said_by(0) if line.startswith("[0] samples/s")]
    if outcome.code != 0 or not speed:
        raise RuntimeError(f"a job failed with {outcome.code}")
    return float(speed[0].replace(",", ""))


def speeds(options, table):
    count = min(options.count, 1000)
    results = []
    found = {False: [], True: []}

    def once():
        for turn in range(2 if options.quick else 6):
            found[turn % 2 == 1].append(garbage(options, count, turn % 2 == 1, results))
        return "let in" if "let in" in results else "", None, None
    table.run("ssgd", f"garbage of {count} strangers", once)
    table.close()
    if found[True]:
        slower = 100 * (1 - statistics.median(found[True]) / statistics.median(found[False]))
        counts = ", ".join(f"{results.count(what)} {what}" for what in ("refused", "sent away", "let in"))
        table.note(f"strangers: {counts}; samples/s {statistics.median(found[False]):.0f} undisturbed, "
                   f"{statistics.median(found[True]):.0f} with them ({-slower:+.1f} %)")


def strangers(options, table):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    options.count = min(options.count, most - 100)
    for what, addresses, words in [("silent, one address", 1, b""), ("silent, 1000 addresses", 1000, b""),
                                   ("half a handshake, one address", 1, HALF_A_HANDSHAKE)]:
        for _ in range(options.times):
            table.run("ssgd", f"{options.count} {what}", lambda: silent(options, addresses, words))
    table.run("ssgd", "200 strangers, 40 descriptors", lambda: no_descriptors(options))
    table.close()
    for what, words in [("silent", b""), ("half a handshake", HALF_A_HANDSHAKE)]:
        each, guests = kilobytes_each(options, words)
        table.note(f"memory of rank 0 per stranger, {what}: {each:.0f} kB with {guests} inside")
    speeds(options, table)
