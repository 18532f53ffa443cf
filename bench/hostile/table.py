# SPDX-License-Identifier: MIT
"""What came of the attacks, a line for each kind."""
import collections
import subprocess
import sys


class Table:
    """Lines `strategy  attack  runs  right  wrong (what)  slowest s`, printed as they become known."""

    def __init__(self, only="", verbose=False):
        self.only = only
        self.verbose = verbose
        self.all_right = True
        self._said_head = False
        self._rows = {}

    def run(self, strategy, attack, once):
        """One run: `once` returns what went wrong, if anything, the seconds it took to get over it, and its Outcome."""
        if self.only not in attack:
            return
        try:
            wrong, seconds, outcome = once()
        except (RuntimeError, OSError, LookupError, subprocess.SubprocessError) as error:
            wrong, seconds, outcome = f"could not be tried: {error!r}", None, None
        row = self._rows.setdefault((strategy, attack), {"wrong": collections.Counter(), "runs": 0, "seconds": []})
        row["runs"] += 1
        if seconds is not None:
            row["seconds"].append(seconds)
        if not wrong:
            return
        self.all_right = False
        row["wrong"][wrong] += 1
        if self.verbose and outcome is not None:
            print(f"# {strategy}, {attack}: {wrong}", *outcome.errors(), sep="\n#   ", file=sys.stderr, flush=True)

    def close(self):
        """Prints what has been added since."""
        if not self._said_head:
            print(f"{'strategy':<15} {'attack':<40} {'runs':>4} {'right':>5} {'slowest s':>9}  wrong")
            self._said_head = True
        for (strategy, attack), row in self._rows.items():
            wrong = "; ".join(f"{count}x {what}" for what, count in row["wrong"].most_common(4))
            slowest = f"{max(row['seconds']):.2f}" if row["seconds"] else ""
            right = row["runs"] - row["wrong"].total()
            print(f"{strategy:<15} {attack:<40} {row['runs']:>4} {right:>5} {slowest:>9}  {wrong}".rstrip(), flush=True)
        self._rows = {}

    def note(self, text):
        """A figure that belongs to the lines above."""
        print(f"  {text}", flush=True)
