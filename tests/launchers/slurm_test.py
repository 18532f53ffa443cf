# SPDX-License-Identifier: MIT
"""Ranks of srun and sbatch: Slurm and munge as a cluster of two nodes, both this machine, with everything in one folder.
   slurm_test.py TACIT BATCH_FILE TACIT_OF_MPICH"""
import os
import signal
import sys

import harness as h

NODES = ("n1", "n2")


def config(folder, ports):
    user = h.run(["id", "-un"], folder).out.strip()
    nodes = "\n".join(f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=4 State=UNKNOWN"
                      for name, port in zip(NODES, ports[1:]))
    # Nothing of control groups or of the system's own Slurm. TmpFS: two nodes on one machine have their own sockets of
    # PMIx. config_overrides: there may be fewer cores than tasks.
    return f"""ClusterName=tacit
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=1000
SlurmdParameters=config_overrides
KillWait=5
ReturnToService=2
MailProg=/bin/true
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Cluster:
    """munged, slurmctld and a slurmd per node, in the foreground, so that their ids are known."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.env = h.clean_environment()
        self.env["SLURM_CONF"] = os.path.join(folder, "slurm.conf")
        # Open MPI names shared memory by host, job and place on the node: two nodes of one host would write into the same.
        self.env["OMPI_MCA_btl"] = "self,tcp"

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        programs = [h.program(name, package) for name, package in
                    (("munged", "munge"), ("slurmctld", "slurm-wlm"), ("slurmd", "slurm-wlm"), ("srun", "slurm-wlm"))]
        munged, slurmctld, slurmd = programs[:3]
        if os.getuid() != 0:
            h.skip("slurmd starts the tasks of users and wants to be root")
        for name in ("state", *(f"{kind}-{node}" for kind in ("spool", "tmp") for node in NODES)):
            os.mkdir(os.path.join(self.folder, name))
        with open(self.env["SLURM_CONF"], "w", encoding="utf-8") as file:
            file.write(config(self.folder, h.free_ports(1 + len(NODES))))
        with open(os.open(self.path("munge.key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(self.folder, 0o755)  # munged lets nobody find a socket that not all can reach
        files = [f"--{kind}-file={self.path('munge.' + kind)}" for kind in ("key", "pid", "log", "seed")]
        self.daemon("munged", [munged, "-F", "--force", "--socket=" + self.path("munge.sock"), *files])
        h.check(h.eventually(lambda: os.path.exists(self.path("munge.sock"))), "no munged", self.logs())
        self.daemon("slurmctld", [slurmctld, "-D"])
        for node in NODES:
            self.daemon(node, [slurmd, "-D", "-N", node])
        idle = lambda: self.run("sinfo", "-h", "-o", "%T %D").out.strip() == f"idle {len(NODES)}"
        h.check(h.eventually(idle), "the nodes did not come up", self.logs())

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.end()

    def path(self, name):
        return os.path.join(self.folder, name)

    def daemon(self, name, words):
        self.daemons.append(h.Running(words, self.folder, self.env, name))

    def logs(self):
        return "\n".join(f"== {d.words}\n{d.out}{d.err}" for d in self.daemons)

    def run(self, *words):
        return h.run(words, self.folder, self.env)

    def submit(self, *words, export="ALL"):
        """The number of a batch job; what it prints is in NUMBER.log."""
        words = ("sbatch", "--parsable", "--output=" + self.path("%j.log"), "--export=" + export, *words)
        return self.run(*words).expect(0).out.strip()

    def state(self, job):
        fields = dict(field.partition("=")[::2] for field in self.run("scontrol", "-o", "show", "job", job).out.split())
        return fields["JobState"], int(fields["ExitCode"].partition(":")[0])

    def batch(self, *words, export="ALL"):
        """What a batch job printed, and its exit code. sbatch --wait looks only now and then."""
        job = self.submit(*words, export=export)
        over = lambda: self.state(job)[0] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
        ended = h.eventually(over)
        result = h.Result(["sbatch", *words], self.state(job)[1], h.read(self.path(job + ".log")), "")
        h.check(ended, "the job did not end", result)
        return result


def steps(cluster, tacit, want):
    srun = lambda *options: cluster.run("srun", "-N", "2", "-n", "4", *options, tacit, *h.TRAIN)
    over_mpi = srun("--mpi=pmix")
    h.show("srun --mpi=pmix, 4 tasks on 2 nodes: " + h.expect_world(over_mpi, "mpi", 4, want))
    # Open MPI ends its processes itself where srun offers nothing that it speaks; MPICH and others count one rank each.
    alone = srun("--mpi=none")
    h.check(alone.code != 0 and "weights_hash" not in alone.out, "ranks that found nobody have trained", alone)
    h.show("srun --mpi=none:", *alone.lines("PMI")[:1])


def steps_of_mpich(cluster, mpich, want):
    """Linked where the test of MPICH has built it."""
    if not os.path.exists(mpich):
        return
    srun = lambda plugin: cluster.run("srun", "-N", "2", "-n", "4", plugin, mpich, *h.TRAIN)
    h.show("MPICH, srun --mpi=pmi2: " + h.expect_world(srun("--mpi=pmi2"), "mpi", 4, want))
    alone = srun("--mpi=pmix").expect(2, "of 4 to its launcher and rank 0 of 1 to its MPI library", "--mpi=pmi2")
    h.check("weights_hash" not in alone.out, "a world of one has trained", alone)
    h.show("MPICH, srun --mpi=pmix:", *alone.lines("to its launcher")[:1])


def batches(cluster, tacit, batch_file, want):
    export = f"ALL,TACIT={tacit}"
    over_mpi = cluster.batch(batch_file, *h.TRAIN[1:], export=export)
    h.show("sbatch tacit.sbatch: " + h.expect_world(over_mpi, "mpi", 4, want))
    over_tcp = cluster.batch(batch_file, *h.TRAIN[1:], export=export + ",WORLD=tcp")
    h.show("sbatch, WORLD=tcp: " + h.expect_world(over_tcp, "tcp+tls", 4, want))
    h.check(not [name for name in os.listdir(cluster.folder) if name.startswith("tacit-")], "a key is left")

    forgotten = cluster.batch("-n", "4", "--wrap", " ".join([tacit, *h.TRAIN])).expect(2, "SLURM_NTASKS=4")
    h.show("sbatch without srun:", forgotten.out)


def goes_on_without_a_rank(cluster, tacit, batch_file):
    """A rank is killed on its node, and gossip over TCP trains on; scancel leaves nobody."""
    rank = cluster.path("rank")
    with open(rank, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho $$ >{cluster.path("pid")}.$SLURM_PROCID\nexec {tacit} "$@"\n')
    os.chmod(rank, 0o755)
    job = cluster.submit(batch_file, *h.ENDLESS[1:], "--strategy", "gossip", export=f"ALL,TACIT={rank},WORLD=tcp")
    log = cluster.path(job + ".log")
    says = lambda word: h.check(h.eventually(lambda: word in h.read(log)), f"it does not say '{word}'", h.read(log))
    says("epoch 1.00")
    os.kill(int(h.read(cluster.path("pid.3"))), signal.SIGKILL)
    says("rank 3 is lost")
    done = h.read(log).count("epoch ")
    h.check(h.eventually(lambda: h.read(log).count("epoch ") > done), "the others did not go on", h.read(log))
    h.show("sbatch, gossip over TCP, rank 3 killed:",
           *[line for line in h.read(log).splitlines() if "rank 3 is lost" in line][:1], "the others train on")
    cluster.run("scancel", job).expect(0)
    h.expect_nobody_left(tacit + " ")


def main(tacit, batch_file, mpich):
    with h.scratch() as folder:
        own = os.path.join(folder, "tacit")
        os.symlink(tacit, own)
        with Cluster(folder) as cluster:
            want = h.hash_with_threads(own, folder)
            steps(cluster, own, want)
            steps_of_mpich(cluster, mpich, want)
            batches(cluster, own, batch_file, want)
            goes_on_without_a_rank(cluster, own, batch_file)
        h.expect_nobody_left(folder)


main(*sys.argv[1:])
