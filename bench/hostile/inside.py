# SPDX-License-Identifier: MIT
"""An attack that needs namespaces of its own runs in a second process of this program, and they go with that one."""
import os
import pathlib
import subprocess
import sys

DOOR = pathlib.Path(__file__).resolve().parent.parent / "hostile.py"
CANNOT = 77  # exit code of scripts/netns


def is_inside():
    return os.environ.get("HOSTILE_INSIDE") == "1"


def run_inside(around, what, table):
    """Runs the attack `what` behind the command `around`, with the options that this process was given."""
    arguments = [what if argument in (what, "all") else argument for argument in sys.argv[1:]]
    command = [*map(str, around), sys.executable, str(DOOR), *arguments]
    with subprocess.Popen(command, env=dict(os.environ, HOSTILE_INSIDE="1")) as child:
        try:
            code = child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
    if code == CANNOT:
        table.note(f"{what}: left out; this machine cannot do it")
    elif code != 0:
        table.all_right = False
