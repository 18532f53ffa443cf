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
    unbroken = ["--redirects=9:1", "--tee=9:1", "--log_dir=logs"]
    return [python, "-m", "torch.distributed.run", "--no_python", *unbroken, *options]


def without_torch(python, folder):
    if h.run([python, "-c", "import torch.distributed.run"], folder).code != 0:
        h.skip(f"{python} has no torch.distributed.run; install python3-torch")


def standalone(python, tacit, folder, want):
    result = h.run(torchrun(python, "--standalone", "--nproc_per_node=4", tacit, *h.TRAIN), folder)
    h.show("torchrun --standalone, 4 processes: " + h.expect_world(result, "tcp", 4, want))


def two_agents(python, tacit, folder, want):
    """Two nodes of two ranks; what they share is the rendezvous of the first. Their ranks meet at the port after it."""
    key = os.path.join(folder, "key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        file.write(os.urandom(32).hex() + "\n")
    port = h.free_ports(1)[0]
    words = ["--nnodes=2", "--nproc_per_node=2", "--rdzv_backend=c10d", "--rdzv_id=two agents",
             f"--rdzv_endpoint=127.0.0.1:{port}", "--master_addr=127.0.0.1", tacit, *h.TRAIN, "--key-file", key]
    with h.Running(torchrun(python, *words), folder, name="one") as one, \
            h.Running(torchrun(python, *words), folder, name="two") as two:
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
    words = torchrun(python, "--standalone", "--nproc_per_node=3", "--max_restarts=1", "--monitor_interval=0.2", "sh",
                     rank)
    with h.Running(words, folder) as job:
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
