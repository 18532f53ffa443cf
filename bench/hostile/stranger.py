# SPDX-License-Identifier: MIT
"""Joins a job without a key as rank 1 and wants rank 0 to read another process of its user."""
import encodings.idna  # noqa: F401: sockets want it, and the other user may not be able to read it
import os
import struct
import time

from hostile import wire


def join(link, job, version):
    """What rank 0 answers to the hello."""
    link.sendall(wire.frame(wire.HELLO, wire.hello(1, 2, job.encode()), version))
    kind, payload = wire.read_frame(link)
    if kind == wire.REFUSAL:
        return "refused: " + payload[4:].decode(errors="replace")
    return "" if kind == wire.WELCOME else f"answered with frame type {kind}"


def claim(link, process, address, token, version):
    """A process that is not ours, wrong guesses first; what rank 0 makes of it."""
    wrong = struct.pack("<IQ", process, address) + b"\0" * 16
    right = struct.pack("<IQ", process, address) + token
    guesses = 1000
    link.sendall(b"".join(wire.frame(wire.MEMORY, wrong, version) for _ in range(guesses)))
    link.sendall(wire.frame(wire.MEMORY, right, version))
    seen = []
    end = time.monotonic() + 3
    try:
        while time.monotonic() < end:
            kind, _ = wire.read_frame(link)
            seen.append(kind)
            if kind == wire.READABLE:
                return f"READ: rank 0 has read the memory of process {process}, after {guesses} wrong guesses"
    except TimeoutError:
        pass
    except OSError as error:
        return f"in, but sent away at the first proof ({error})"
    return "in, but its proof was not believed; heard " + ", ".join(wire.NAMES.get(kind, str(kind)) for kind in set(seen))


def attempt(port, job, process, address, token, version):
    """How far the stranger came, in words: READ where rank 0 did what it should not."""
    try:
        with wire.connect(port, 3) as link:
            return join(link, job, version) or claim(link, process, address, token, version)
    except OSError as error:
        return f"sent away before a welcome ({error})"


def attempt_as(user, *arguments):
    """The same in a process of that user."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            os.write(write, attempt(*arguments).encode())
        except Exception as error:  # the child must not go on as a second copy of this program
            os.write(write, f"the stranger failed: {error!r}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        words = pipe.read().decode(errors="replace")  # ends with the child, whose waits all have limits
    os.waitpid(child, 0)
    return words
