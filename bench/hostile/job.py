# SPDX-License-Identifier: MIT
"""A job under attack: `tacit launch` and its ranks, what they print, and how they end."""
import os
import re
import secrets
import signal
import subprocess
import threading
import time

RANKS = 4
GRACE = 10.0  # --grace of every job; a rank that cannot reach the others takes up to 5 s to say goodbye
FOREVER = 100_000_000  # steps
TASK = ["--model", "mlp", "--data", "synthetic", "--batch", "8", "--seed", "1"]


def eventually(condition, seconds):
    """Waits for the condition and returns what it was at the end."""
    end = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            return None
        time.sleep(0.01)


def environment(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return {}
    return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)


def status(pid, field):
    """A number of /proc/PID/status, such as VmRSS in kB; 0 where the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def parent(pid):
    return status(pid, "PPid")


def send_signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Job:
    """Used as a context: whatever happens inside, no process of the job is left at its end."""

    def __init__(self, program, train, launch=("-n", str(RANKS)), wrapper=()):
        self.program = program
        self.name = "hostile" + secrets.token_hex(6)
        self.lines = []  # (time, text)
        self.command = [program, "launch", *launch, "--job", self.name, "--grace", str(GRACE), "--", *wrapper, program,
                        "train", *TASK, *train]
        self.process = None
        self._reader = None

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_):
        for pid in self.processes():
            send_signal(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(5)
        for pid in self.processes():  # whatever was started in between
            send_signal(pid, signal.SIGKILL)

    def _read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.decode(errors="replace").rstrip("\n")))

    def processes(self):
        """Every process that carries the name of this job: ranks and what they started, on whichever host."""
        return [int(pid) for pid in os.listdir("/proc")
                if pid.isdigit() and environment(pid).get("TACIT_JOB") == self.name]

    def ranks(self):
        """Process by rank."""
        found = {}
        for pid in self.processes():
            try:
                same = os.path.samefile(f"/proc/{pid}/exe", self.program)
            except OSError:
                continue
            if same:
                found[int(environment(pid).get("TACIT_RANK", -1))] = pid
        return found

    def says(self, pattern, seconds):
        """The time of the first line that matches, or None."""
        def look():
            return next((at for at, line in list(self.lines) if re.search(pattern, line)), None)
        return eventually(look, seconds)

    def begin(self, seconds=120):
        """Waits until the ranks train, and returns them."""
        if not self.says(r"^\[0\] epoch 1\.00", seconds):
            raise RuntimeError(f"the job did not begin within {seconds} s: {[line for _, line in self.lines][-5:]}")
        return self.ranks()

    def end(self, seconds):
        """How the job ended; its code is None where it did not within so many seconds."""
        try:
            code = self.process.wait(seconds)
            self._reader.join(10)
        except subprocess.TimeoutExpired:
            code = None
        return Outcome(code, list(self.lines))


class Outcome:
    """What the lines of a job say about its end."""

    _ENDINGS = re.compile(r"ranks? ([\d, -]+) (?:exited with (\d+)|"
                          r"(?:was|were) (killed by signal \d+|lost|not started))")

    def __init__(self, code, lines):
        self.code = code
        self.lines = lines
        self.endings = self._read_endings()
        self.hashes = {}  # of the weights, by the rank that reported a finished run
        self.counted_out = {}  # ranks that it says were lost, by the same
        reports = self._reports()
        for rank, report in reports.items():
            if report.get("status") == "finished":
                self.hashes[rank] = report.get("weights hash", "")
                self.counted_out[rank] = report["lost"]

    def _read_endings(self):
        """By rank: its exit code, or in words what else became of it."""
        found = {} if self.code is None else {rank: 0 for rank in range(RANKS)}
        for _, line in self.lines:
            if not line.startswith("tacit launch: "):
                continue
            for numbers, code, otherwise in self._ENDINGS.findall(line):
                for part in numbers.split(","):
                    first, _, last = part.strip().partition("-")
                    if first:
                        for rank in range(int(first), int(last or first) + 1):
                            found[rank] = int(code) if code else otherwise
        return found

    def _reports(self):
        reports = {}
        for _, line in self.lines:
            if match := re.match(r"\[(\d+)\] (status|weights hash|lost)\s+(.*)", line):
                rank, key, value = int(match[1]), match[2], match[3]
                report = reports.setdefault(rank, {"lost": set()})
                if key == "lost":
                    report["lost"].update(map(int, re.findall(r"^rank (\d+) was lost", value)))
                else:
                    report[key] = value
        return reports

    def said_by(self, rank):
        return [line for _, line in self.lines if line.startswith(f"[{rank}] ")]

    def names(self, rank, culprit):
        """Whether the rank said that it lost the culprit."""
        return any(f"tacit: rank {rank} lost rank {culprit}: " in line for line in self.said_by(rank))

    def blames_itself(self, rank):
        """Whether the last error of a rank looks for the cause at home."""
        errors = [line for line in self.said_by(rank) if re.match(r"\[\d+\] tacit: (?!warning)", line)]
        return bool(errors) and bool(re.search(f"rank {rank} is lost to the others|its own (machine|link)", errors[-1]))

    def errors(self):
        """For a reader who wants to know what went wrong."""
        words = r"tacit(:| launch:)|status  |weights hash|terminate|was lost"
        begin = self.lines[0][0] if self.lines else 0
        return [f"{at - begin:6.2f} s  {line}" for at, line in self.lines if re.search(words, line)][-14:]


def violations(outcome):
    """What must not be after any fault, as words; empty where all is well."""
    if outcome.code is None:
        return "no end"
    if len(set(outcome.hashes.values())) > 1:
        return "split brain: " + " and ".join(f"rank {rank}" for rank in sorted(outcome.hashes)) + " finished apart"
    for reporter, lost in outcome.counted_out.items():
        for rank in sorted(lost):
            if outcome.endings.get(rank) == 0:
                return f"rank {rank} exited with 0 though rank {reporter} finished without it"
    return ""
