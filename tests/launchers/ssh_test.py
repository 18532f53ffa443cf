# SPDX-License-Identifier: MIT
"""tacit launch --hosts over OpenSSH: a server of this user's own on loopback, with keys made for the test.
   ssh_test.py TACIT"""
import os
import signal
import subprocess
import sys

import harness as h

HOSTS = "127.0.0.1 slots=2\n127.0.0.2\nlocalhost\n"  # ranks 0 and 1, 2, 3


def make_key(folder, name):
    path = os.path.join(folder, name)
    subprocess.run([h.program("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


class Server:
    """sshd on 127.0.0.1, 127.0.0.2 and nowhere else, so that 127.0.0.3 refuses."""

    def __init__(self, folder):
        self.folder = folder
        self.sshd = h.program("sshd", "openssh-server")
        self.host_key, self.key, self.stranger = (make_key(folder, n) for n in ("host", "user", "stranger"))
        if os.getuid() == 0:
            os.makedirs("/run/sshd", 0o755, exist_ok=True)  # it wants that folder where root is the user
        self.port = h.free_ports(1)[0]
        config = os.path.join(folder, "sshd_config")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""Port {self.port}
ListenAddress 127.0.0.1
ListenAddress 127.0.0.2
HostKey {self.host_key}
AuthorizedKeysFile {self.key}.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
""")
        self.daemon = h.Running([self.sshd, "-D", "-e", "-f", config], folder, name="sshd")

    def __enter__(self):
        self.daemon.says("Server listening on 127.0.0.2")
        return self

    def __exit__(self, *_):
        self.daemon.end()

    def ssh(self, key):
        return (f"ssh -p {self.port} -i {key} -F none -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes "
                f"-o StrictHostKeyChecking=no -o UserKnownHostsFile={self.folder}/known_hosts -o ConnectTimeout=20")


class Case:
    def __init__(self, tacit, folder, server):
        self.tacit, self.folder, self.server = tacit, folder, server
        self.write("hosts", HOSTS)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def words(self, *more, hosts="hosts", key=None):
        return [self.tacit, "launch", "--hosts", hosts, "--ssh", self.server.ssh(key or self.server.key), *more]

    def launch(self, *more, **how):
        return h.run(self.words(*more, **how), self.folder)

    def nobody_left(self):
        """Neither ranks nor the node processes that ssh started; their command lines have this program's path."""
        h.expect_nobody_left(self.tacit + " ")

    def start_training(self):
        """Four ranks that train for ever, and their process ids."""
        self.write("rank", f"echo $$ >pid.$TACIT_RANK\nexec {self.tacit} {' '.join(h.ENDLESS)}\n")
        job = h.Running(self.words("--grace", "20", "--", "sh", "rank"), self.folder)
        job.says("[0] epoch 1.00")
        return job, [int(h.read(os.path.join(self.folder, f"pid.{rank}"))) for rank in range(4)]

    def ancestor(self, pid, name):
        """The nearest process above this one whose command has this name in it."""
        while pid > 1:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
            if name in h.read(f"/proc/{pid}/cmdline"):
                return pid
        raise AssertionError(f"no {name} above it")


def trains_as_one_world(case):
    want = h.hash_with_threads(case.tacit, case.folder)
    result = case.launch("--", case.tacit, *h.TRAIN)
    h.show("three hosts, four ranks: " + h.expect_world(result, "tcp+tls", 4, want))
    case.nobody_left()


def refuses_what_cannot_begin(case):
    nobody = case.launch("--", case.tacit, *h.TRAIN, key=case.server.stranger)
    nobody.expect(2, "Permission denied (publickey)", "tacit: host ", " could not be reached: ssh exited with 255")
    h.show("a key that nobody knows:", *nobody.lines("Permission denied")[:1], *nobody.lines("tacit: "))

    case.write("refusing", "127.0.0.1\n127.0.0.3\n")
    closed = case.launch("--", case.tacit, *h.ENDLESS, hosts="refusing")
    closed.expect(2, "[127.0.0.3] ssh: connect to host 127.0.0.3", "Connection refused",
                  "tacit: host 127.0.0.3 could not be reached: ssh exited with 255")
    h.show("a host that refuses the connection:", *closed.lines("refused"), *closed.lines("tacit: "))

    absent = case.launch("--remote-tacit", "/nowhere/tacit", "--", "true")
    absent.expect(2, "cannot run /nowhere/tacit (exit code 127)", "--remote-tacit", "tacit: host ")
    h.show("no tacit on the host:", *absent.lines("tacit: host"))
    unknown = case.launch("--", "./nowhere")
    unknown.expect(2, "tacit: host ", "cannot start './nowhere'")
    h.show("no such program on the host:", *unknown.lines("tacit: host"))
    case.nobody_left()


def names_a_rank_that_was_killed(case):
    job, pids = case.start_training()
    with job:
        os.kill(pids[2], signal.SIGKILL)
        result = job.wait().expect(3, "tacit launch: rank 2 on host 127.0.0.2 was killed by signal 9 (Killed)")
    h.show("rank 2 killed on its host:", *result.lines("tacit launch: "))
    case.nobody_left()


def names_a_host_that_was_lost(case):
    job, pids = case.start_training()
    with job:
        os.kill(case.ancestor(pids[3], "sshd"), signal.SIGKILL)
        result = job.wait().expect(3, "rank 3 was lost: the connection to host localhost ended")
    h.show("the connection of a host cut:", *result.lines("tacit launch: "))
    case.nobody_left()


def leaves_nobody_when_the_launcher_dies(case):
    job, _ = case.start_training()
    with job:
        job.process.send_signal(signal.SIGKILL)
        job.wait()
    case.nobody_left()
    h.show("the launcher killed: nobody is left on any host")


def main(tacit):
    with h.scratch() as folder:
        # Its own path tells the processes of this test from all others.
        own = os.path.join(folder, "tacit")
        os.symlink(tacit, own)
        with Server(folder) as server:
            case = Case(own, folder, server)
            trains_as_one_world(case)
            refuses_what_cannot_begin(case)
            names_a_rank_that_was_killed(case)
            names_a_host_that_was_lost(case)
            leaves_nobody_when_the_launcher_dies(case)


main(sys.argv[1])
