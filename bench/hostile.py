#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What killed ranks and strangers do to a job, with real processes on loopback.

  bench/hostile.py kill --times 50         kills one of 4 ranks with -9 and measures how long the others take to say so
  bench/hostile.py strangers --count 1000  throws garbage and wrong handshakes at a job's ports, while its ranks meet and
                                           while it trains, and compares its speed with an undisturbed job beside it
"""
import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

RANKS = 4


def job(program, *train):
    """A job of 4 ranks; its lines go to the list `lines` with the time they came."""
    command = [program, "launch", "-n", str(RANKS), "--grace", "30", "--", program, "train", "--model", "mlp", *train]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []

    def read():
        for line in process.stdout:
            lines.append((time.monotonic(), line.rstrip("\n")))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    return process, lines, reader


def wait_for(lines, pattern, limit=120):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if any(re.search(pattern, line) for _, line in list(lines)):
            return True
        time.sleep(0.01)
    return False


def environment(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return dict(item.split("=", 1) for item in file.read().decode().split("\0") if "=" in item)


def ranks_of(launcher):
    """Process id by rank, of the launcher's own children."""
    found = {}
    with open(f"/proc/{launcher}/task/{launcher}/children") as file:
        for pid in map(int, file.read().split()):
            rank = environment(pid).get("TACIT_RANK")
            if rank is not None:
                found[int(rank)] = pid
    return found


def kill(program, times):
    good, slowest = 0, 0.0
    for run in range(times):
        process, lines, reader = job(program, "--data", "synthetic", "--batch", "8", "--steps", "100000000")
        if not wait_for(lines, r"^\[0\] epoch 1\.00"):
            process.kill()
            sys.exit(f"run {run}: the job did not begin: {lines}")
        victim = random.randrange(RANKS)
        time.sleep(random.random() * 0.2)
        killed = time.monotonic()
        os.kill(ranks_of(process.pid)[victim], signal.SIGKILL)
        code = process.wait()
        seconds = time.monotonic() - killed
        reader.join()
        named = [rank for rank in range(RANKS) if rank != victim and
                 any(f"[{rank}] tacit: rank {rank} lost rank {victim}: " in line for _, line in lines)]
        ended = sum(line.count("exited with 3") for _, line in lines)
        ok = code == 3 and len(named) == RANKS - 1 and ended > 0 and seconds < 10
        good += ok
        slowest = max(slowest, seconds)
        if not ok:
            print(f"run {run}: rank {victim} killed, exit {code}, named by {named}, {seconds:.2f} s")
            print("\n".join(line for _, line in lines if "epoch" not in line))
    print(f"{good} of {times}: the other {RANKS - 1} ranks named the killed one and exited with 3; "
          f"slowest {slowest:.2f} s from the kill to the end of all")
    return 0 if good == times else 1


def throw_at(port, index, results):
    """One stranger: garbage, HTTP, half a hello, or a TLS hello of somebody without the key."""
    words = [os.urandom(2000), b"GET / HTTP/1.1\r\n\r\n", b"TCIT\x01\x04\0\0" + b"\0" * 8 + b"\x40",
             bytes.fromhex("16030100c8010000c40303") + os.urandom(190), b""]
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
            link.sendall(words[index % len(words)])
            link.settimeout(10)
            heard = link.recv(4096)
            results.append("answered" if heard.startswith(b"TCIT\x01\x05") else "sent away")
    except ConnectionRefusedError:
        results.append("refused")
    except OSError:
        results.append("sent away")


def strangers(program, count):
    train = ["--data", "synthetic", "--batch", "8", "--steps", "3000", "--seed", "1"]
    speeds = {True: [], False: []}
    results = []
    for turn in range(6):
        disturbed = turn % 2 == 1
        process, lines, reader = job(program, *train)
        if disturbed:
            while not (ranks := ranks_of(process.pid)):
                time.sleep(0.001)
            port = int(environment(next(iter(ranks.values())))["TACIT_RENDEZVOUS"].rsplit(":", 1)[1])
            for index in range(count):
                threading.Thread(target=throw_at, args=(port, index, results), daemon=True).start()
                time.sleep(0.001)
        code = process.wait()
        reader.join()
        speed = [line for _, line in lines if "samples/s " in line and line.startswith("[0] samples/s")]
        if code != 0 or not speed:
            sys.exit(f"a job failed with {code}: {[line for _, line in lines][-5:]}")
        speeds[disturbed].append(float(speed[0].split()[-1].replace(",", "")))
    middle = {key: sorted(values)[len(values) // 2] for key, values in speeds.items()}
    print(f"{count} strangers per job: {results.count('refused')} refused by the kernel, "
          f"{results.count('sent away')} sent away, {results.count('answered')} let in")
    print(f"samples/s undisturbed {middle[False]:.0f}, disturbed {middle[True]:.0f}: "
          f"{100 * (1 - middle[True] / middle[False]):.1f} % slower")
    return 0 if results.count("answered") == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kill", "strangers"])
    parser.add_argument("--program", default="build/release/tacit")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    return kill(program, options.times) if options.what == "kill" else strangers(program, options.count)


if __name__ == "__main__":
    sys.exit(main())
