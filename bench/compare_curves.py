#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far the loss curves of runs are apart: compare_curves.py RUN_DIR RUN_DIR...

Each curve is the mean over ranks of the logged losses, step by step. Prints, for every run after the first, the largest
difference to the first over growing parts of the run.
"""
import json
import sys


def curve(folder):
    losses = {}
    with open(f"{folder}/run.jsonl") as log:
        for line in log:
            event = json.loads(line)
            if event["event"] == "steps_done":
                losses.setdefault(event["step"], []).append(event["loss"])
    return [sum(v) / len(v) for _, v in sorted(losses.items())]


def main():
    first = curve(sys.argv[1])
    for folder in sys.argv[2:]:
        gaps = [abs(a - b) for a, b in zip(first, curve(folder), strict=True)]
        parts = [1, 10, 100, len(gaps)]
        print(folder, " ".join(f"first {n}: {max(gaps[:n]):.1e}" for n in parts if n <= len(gaps)))


main()
