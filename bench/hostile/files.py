# SPDX-License-Identifier: MIT
"""Symbolic links where a run writes, deeply nested files, escape codes in what a stranger says."""
import os
import pathlib
import socket
import subprocess
import tempfile

from hostile import wire
from hostile.job import TASK, eventually
from hostile.memory import listens

LIMIT = 120.0
PRECIOUS = "what somebody else has written\n"
CLUSTERS = pathlib.Path(__file__).resolve().parent.parent.parent / "clusters"


def run(command):
    """Exit code and what was said; -9 where it did not end in time."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return -9, b""
    return done.returncode, done.stdout


def linked(command, folder, link):
    """A link lies where the command will write: nobody may write through it, whatever the command does."""
    target = folder / "precious"
    target.write_text(PRECIOUS)
    (folder / "out").mkdir()
    (folder / "out" / link).symlink_to(target)
    code, _ = run(command)
    if code < 0:
        return f"signal {-code}", None, None
    return "" if target.read_text() == PRECIOUS else "written through the link", None, None


def start_rank_0(options, rendezvous, output):
    """Rank 0 of 2, without a key."""
    environment = dict(os.environ, TACIT_RANK="0", TACIT_SIZE="2", TACIT_JOB="hostile", TACIT_RENDEZVOUS=rendezvous)
    return subprocess.Popen([options.program, "train", *TASK, "--steps", "1"], env=environment,
                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


def meeting_file(options, folder):
    """The same for the file in which rank 0 says where it listens."""
    target = folder / "precious"
    target.write_text(PRECIOUS)
    (folder / "meet.part").symlink_to(target)
    rank = start_rank_0(options, f"file://{folder}/meet", subprocess.DEVNULL)
    try:
        eventually(lambda: (folder / "meet").exists() or rank.poll() is not None or target.read_text() != PRECIOUS, 20)
        failed = rank.poll() not in (None, 0, 2)
    finally:
        rank.kill()
        rank.wait()
    if target.read_text() != PRECIOUS:
        return "written through the link", None, None
    return f"exit {rank.returncode}" if failed else "", None, None


def nested(command, file, text):
    """Refused as a file that has to be changed."""
    file.write_text(text)
    code, said = run([*command, file])
    if code < 0:
        return f"signal {-code}", None, None
    return "" if code == 2 and said.startswith(b"tacit: ") else f"exit {code}: {said[:60]!r}", None, None


def escape_codes(options):
    """A hello with a job's name that would change the terminal's title and colours."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryFile() as said:
        rank = start_rank_0(options, f"tcp://127.0.0.1:{port}", said)
        try:
            if not eventually(lambda: listens(port), 30):
                raise RuntimeError("rank 0 does not listen")
            with wire.connect(port, 5) as link:
                job = b"\x1b]0;owned\x07\x1b[31m\nrank 3: all is well"
                link.sendall(wire.frame(wire.HELLO, wire.hello(1, 2, job), options.wire))
                try:
                    wire.read_frame(link)
                except OSError:
                    pass
            heard = eventually(lambda: os.fstat(said.fileno()).st_size > 0, 5)
        finally:
            rank.kill()
            rank.wait()
        said.seek(0)
        text = said.read()
    if not heard:
        return "nothing in the log", None, None
    return "escape codes in the log" if b"\x1b" in text or b"\nrank 3" in text else "", None, None


def files(options, table):
    train = [options.program, "train", *TASK, "--steps", "20", "--workers", "2", "--quiet", "--out"]
    compare = [options.program, "compare", "--cluster", CLUSTERS / "demo-8.toml", "--strategies", "ssgd", *TASK,
               "--steps", "20", "--out"]
    simulate = [options.program, "simulate", *TASK, "--steps", "1", "--cluster"]
    experiment = [options.program, "compare", "--experiment"]
    depth = 100_000
    array = "a = " + "[" * depth + "]" * depth + "\n"
    table_in_table = "a = " + "{a=" * depth + "1" + "}" * depth + "\n"
    keys = 20_000 if options.quick else depth  # a reader that takes them takes a minute for all
    dotted = "[" + ".".join("a" * keys) + "]\n"

    def at(name, once):
        with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
            table.run("", name, lambda: once(pathlib.Path(folder)))

    for link in ("run.jsonl", "summary.json", "summary.json.part"):
        at(f"link at {link}", lambda folder: linked([*train, folder / "out"], folder, link))
    for link in ("compare.json", "compare.json.part"):
        at(f"link at {link}", lambda folder: linked([*compare, folder / "out"], folder, link))
    at("link at a meeting file's .part", lambda folder: meeting_file(options, folder))
    for name, text in [(f"{depth} arrays", array), (f"{depth} tables", table_in_table), (f"{keys} keys", dotted)]:
        at(f"cluster file, {name} deep", lambda folder: nested(simulate, folder / "file.toml", text))
        at(f"experiment file, {name} deep", lambda folder: nested(experiment, folder / "file.toml", text))
    at("escape codes in a hello", lambda folder: escape_codes(options))
    table.close()
