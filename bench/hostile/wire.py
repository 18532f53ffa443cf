# SPDX-License-Identifier: MIT
"""As much of docs/wire-format.md as a stranger needs who wants to be taken for a rank."""
import pathlib
import re
import socket
import struct

HELLO, WELCOME, REFUSAL, MEMORY = 4, 5, 6, 7

def version():
    """That of the sources beside this program."""
    header = pathlib.Path(__file__).resolve().parent.parent.parent / "src/transport/tcp/frame.h"
    return int(re.search(r"kWireVersion = (\d+)", header.read_text())[1])


def text(words):
    return struct.pack("<I", len(words)) + words


def frame(kind, payload, number):
    return b"TCIT" + struct.pack("<BBHQQ", number, kind, 0, 0, len(payload)) + payload


def hello(rank, size, job, port=1):
    return struct.pack("<IIH", rank, size, port) + text(job)


def receive(link, count):
    got = b""
    while len(got) < count:
        more = link.recv(count - len(got))
        if not more:
            raise ConnectionError("the connection was closed")
        got += more
    return got


def read_frame(link):
    """Type and payload."""
    head = receive(link, 24)
    if head[:4] != b"TCIT":
        raise ConnectionError(f"no frame: {head!r}")
    return head[5], receive(link, struct.unpack("<Q", head[16:])[0])


def connect(port, seconds):
    return socket.create_connection(("127.0.0.1", port), timeout=seconds)
