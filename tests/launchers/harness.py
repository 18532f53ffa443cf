# SPDX-License-Identifier: MIT
"""What the tests of other people's launchers share: programs to find, daemons to end, sentences to expect."""
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # as tests/launchers/CMakeLists.txt tells CTest
PATIENCE = 60.0  # for what should take a second; a loaded machine takes longer
TRAIN = ["train", "--model", "mlp:hidden=64", "--data", "synthetic:samples=640,test=64,size=28,noise=0.1",
         "--batch", "8", "--steps", "40", "--quiet", "--json"]
ENDLESS = ["train", "--model", "mlp:hidden=16", "--data", "synthetic:samples=640,test=64", "--batch", "8",
           "--epochs", "100000"]


def skip(reason):
    print("skipped: " + reason, flush=True)
    sys.exit(SKIPPED)


def program(name, package):
    """Its path; daemons are in folders that users have not in their PATH."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    return found or skip(f"{name} was not found; install {package}")


def clean_environment():
    """Ours without what a launcher around this test may have set."""
    foreign = ("SLURM", "OMPI_", "PMI", "MPI_", "TACIT_", "TORCHELASTIC", "HYD")
    single = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TACIT"}
    env = {k: v for k, v in os.environ.items() if not k.startswith(foreign) and k not in single}
    env["OMP_NUM_THREADS"] = "1"
    return env


def free_ports(count):
    """Ports that nobody has, and that the system gives to nobody by itself: those begin at 32768."""
    found = []
    for port in random.sample(range(10000, 32000), 1000):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("no port is free")


def eventually(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            return result
        time.sleep(0.05)
    return result


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def processes_with(text):
    """Ids of the processes whose command line has this text in it, this one and those that ended left out."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        line = read(f"/proc/{pid}/cmdline").replace("\0", " ")
        if text in line and int(pid) != os.getpid():
            found.append((int(pid), line))
    return found


class Result:
    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err

    def __str__(self):
        return f"{' '.join(self.words)}\nexit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def expect(self, code, *words):
        """Exit code, and words that stand in what was printed; code may be several."""
        codes = code if isinstance(code, tuple) else (code,)
        check(self.code in codes, f"exit code {self.code}, not {code}", self)
        for word in words:
            check(word in self.out + self.err, f"it does not say '{word}'", self)
        return self

    def lines(self, word):
        return [line for line in (self.out + self.err).splitlines() if word in line]

    def summary(self):
        """The one summary that a run prints: two would be two worlds."""
        check(self.out.count('"weights_hash"') == 1, "not one summary", self)
        text = "\n".join(line[4:] if line.startswith("[0] ") else line for line in self.out.splitlines())
        return json.loads(text[text.index("{"):text.rindex("}") + 1])


def check(condition, what, result=""):
    if not condition:
        raise AssertionError(f"{what}\n{result}")


class Running:
    """A program beside the test; it is ended by its id where the test ends first."""

    def __init__(self, words, folder, env=None, name="job"):
        self.words = [str(word) for word in words]
        self._paths = [os.path.join(folder, name + end) for end in (".out", ".err")]
        with open(self._paths[0], "wb") as out, open(self._paths[1], "wb") as err:
            self.process = subprocess.Popen(self.words, cwd=folder, env=env or clean_environment(), stdout=out,
                                            stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    @property
    def out(self):
        return read(self._paths[0])

    @property
    def err(self):
        return read(self._paths[1])

    def says(self, word):
        check(eventually(lambda: word in self.out + self.err or self.process.poll() is not None)
              and word in self.out + self.err, f"it did not say '{word}'", self.result())

    def result(self):
        return Result(self.words, self.process.poll(), self.out, self.err)

    def wait(self, seconds=PATIENCE):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
            check(False, f"it did not end within {seconds} s", self.result())
        return self.result()

    def end(self):
        for number, seconds in ((signal.SIGTERM, 15), (signal.SIGKILL, 15)):
            if self.process.poll() is not None:
                return
            self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)


def run(words, folder, env=None, seconds=PATIENCE):
    with Running(words, folder, env, "run") as job:
        return job.wait(seconds)


def hash_with_threads(tacit, folder, workers=4, more=()):
    """The weights that any world of so many ranks must end with."""
    words = [tacit, *TRAIN, *more, "--workers", str(workers)]
    return run(words, folder).expect(0).summary()["weights_hash"]


def expect_world(result, kind, workers, weights):
    """All ranks were one world, and it computed what threads compute."""
    summary = result.expect(0).summary()
    check(summary["world"] == kind, f"the world is {summary['world']}, not {kind}", result)
    check(summary["workers"] == workers, f"{summary['workers']} workers, not {workers}", result)
    check(summary["weights_hash"] == weights, "other weights than with threads", result)
    return f"world {kind}, {workers} ranks, weights {weights} as with threads"


def expect_nobody_left(marker):
    """No process with this text in its command line remains; nodes take up to 5 s to kill what ignores SIGTERM."""
    check(eventually(lambda: not processes_with(marker)), "processes are left", processes_with(marker))


def show(what, *said):
    """What a test printed is its evidence."""
    print(what, flush=True)
    for line in said:
        print("    " + line.strip(), flush=True)


@contextlib.contextmanager
def scratch():
    """A folder of the test's own, with a short name: sockets have at most 107 letters."""
    folder = tempfile.mkdtemp(prefix="tacit-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
