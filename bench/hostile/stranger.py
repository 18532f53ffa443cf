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


def hear(link, kind, seconds):
    """The payload of the next frame of that type, or None; others are skipped."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            got, payload = wire.read_frame(link)
            if got == kind:
                return payload
    except TimeoutError:
        pass
    return None


def claim(link, process, address, token, version):
    """Says of a process that is not ours that it is, and what rank 0 makes of it.

    Either the reader makes up 16 bytes and the peer tells where it has written them; or, in older programs, a rank
    tells where 16 bytes of its own lie, and which.
    """
    try:
        asked = hear(link, wire.MEMORY, 2)
        place = struct.pack("<IQ", process, address)
        if asked is not None and len(asked) > 16:
            guesses = 1000
            wrong = wire.frame(wire.MEMORY, place + b"\0" * 16, version)
            link.sendall(wrong * guesses + wire.frame(wire.MEMORY, place + token, version))
            answer = hear(link, wire.MEMORY + 1, 3)
            how = f"after {guesses} wrong guesses"
        else:
            link.sendall(wire.frame(wire.MEMORY + 1, place, version))
            answer = hear(link, wire.MEMORY + 2, 3)
            how = "at the first guess"
    except OSError as error:
        return f"in, but sent away at the first proof ({error})"
    if answer is not None:
        return f"READ: rank 0 has read the memory of process {process}, {how}"
    return "in, but nobody " + ("believes its proof" if asked is not None else "asks for a proof or believes one")


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
