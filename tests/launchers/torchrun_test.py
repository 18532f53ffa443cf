# SPDX-License-Identifier: MIT
"""Ranks that torchrun of PyTorch starts: alone, as two agents, and again after one was killed.
   torchrun_test.py TACIT PYTHON"""
import os
import signal
import sys

import harness as h


def torchrun(python, *options):
    # PyTorch 1.13 under Python 3.11 takes its own default of these two for nothing and dies; what is said of a process
    # that there is not leaves those that are alone.
    unbroken = ["--redirects=9:1", "--tee=9:1"]
    return [python, "-m", "torch.distributed.run", "--no_python", *unbroken, "--log_dir=logs", "--monitor_interval=0.2",
            *options]


def without_torch(python, folder):
    looks = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    if h.run([python, "-c", looks], folder).code != 0:
        h.skip(f"{python} has no torch; install python3-torch")


def standalone(python, tacit, folder, want):
    """Ranks meet at the port after torchrun's, which it took at random: somebody may have that one."""
    for _ in range(3):
        result = h.run(torchrun(python, "--standalone", "--nproc_per_node=4", tacit, *h.TRAIN), folder)
        if "is in use" not in result.err:
            break
    h.show("torchrun --standalone, 4 processes: " + h.expect_world(result, "tcp", 4, want))


def two_agents(python, tacit, folder, want):
    """Two nodes of two ranks; what they share is the rendezvous of the first. Ranks meet at TACIT_PORT."""
    key = os.path.join(folder, "key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        file.write(os.urandom(32).hex() + "\n")
    port, meeting = h.free_ports(2)
    env = h.clean_environment() | {"TACIT_PORT": str(meeting)}
    words = ["--nnodes=2", "--nproc_per_node=2", "--rdzv_backend=c10d", "--rdzv_id=two agents",
             f"--rdzv_endpoint=127.0.0.1:{port}", "--master_addr=127.0.0.1", tacit, *h.TRAIN, "--key-file", key]
    with h.Running(torchrun(python, *words), folder, env, "one") as one, \
            h.Running(torchrun(python, *words), folder, env, "two") as two:
        first, second = one.wait().expect(0), two.wait().expect(0)
    first.out += second.out  # rank 0 is with whichever agent came first
    h.show("two agents of torchrun, 2 processes each: " + h.expect_world(first, "tcp+tls", 4, want))


def restart(python, tacit, folder, want):
    """The first time a rank dies in the middle; torchrun starts all of them again and that run is whole."""
    rank = os.path.join(folder, "rank")
    with open(rank, "w", encoding="utf-8") as file:
        file.write(f"""case $TORCHELASTIC_RESTART_COUNT in
0) echo $$ >pid.$RANK; exec {tacit} {' '.join(h.ENDLESS)};;
*) exec {tacit} {' '.join(h.TRAIN)};;
esac
""")
    words = torchrun(python, "--standalone", "--nproc_per_node=3", "--max_restarts=1", "sh", rank)
    env = h.clean_environment() | {"TACIT_PORT": str(h.free_ports(1)[0])}
    with h.Running(words, folder, env) as job:
        job.says("epoch 1.00")
        os.kill(int(h.read(os.path.join(folder, "pid.2"))), signal.SIGKILL)
        result = job.wait()
    result.expect(0, "lost rank 2")
    result.out = result.out[result.out.rindex("{\n", 0, result.out.index('"weights_hash"')):]
    h.show("torchrun --max_restarts=1, rank 2 killed once: then " + h.expect_world(result, "tcp", 3, want),
           *result.lines("tacit: rank 0 lost")[:1])


def main(tacit, python):
    with h.scratch() as folder:
        without_torch(python, folder)
        own = os.path.join(folder, "tacit")
        os.symlink(tacit, own)
        want = h.hash_with_threads(own, folder)
        standalone(python, own, folder, want)
        two_agents(python, own, folder, want)
        restart(python, own, folder, h.hash_with_threads(own, folder, 3))
        h.expect_nobody_left(own + " ")


main(sys.argv[1], sys.argv[2])
