# SPDX-License-Identifier: MIT
"""The program built against MPICH, beside the one that was built against Open MPI: each under its own launcher, and
   refused under the other's.
   mpich_test.py SOURCE CMAKE TACIT"""
import os
import sys

import harness as h


def build(source, cmake, folder):
    """What is compiled alike for both comes from ccache, if there is one."""
    h.program("mpicxx.mpich", "libmpich-dev")
    h.program("mpiexec.mpich", "mpich")
    for words in (["--preset", "mpich", "-DTACIT_UNITY=ON"], ["--build", "--preset", "mpich"]):
        h.run([cmake, "-E", "chdir", source, cmake, *words], folder, dict(os.environ), 900).expect(0)
    return os.path.join(source, "build", "mpich", "tacit")


def open_mpi():
    """Its mpirun, with more processes than cores."""
    h.program("mpirun.openmpi", "openmpi-bin")
    words = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"]
    return words + (["--allow-run-as-root"] if os.getuid() == 0 else [])


def trains(mpich, folder):
    for more in ([], ["--strategy", "ssgd:servers=2"], ["--strategy", "local:period=3"]):
        want = h.hash_with_threads(mpich, folder, 4, more)
        result = h.run(["mpiexec.mpich", "-n", "4", mpich, *h.TRAIN, *more], folder)
        h.show(f"mpiexec of MPICH {' '.join(more)}: " + h.expect_world(result, "mpi", 4, want))
    native = h.run(["mpiexec.mpich", "-n", "4", mpich, *h.TRAIN, "--collectives", "native"], folder).expect(0)
    h.check(native.summary()["workers"] == 4, "not a world of 4", native)
    h.show("mpiexec of MPICH, --collectives native: 4 ranks")


def fails_together(mpich, folder):
    """A rank that cannot begin says why, and so does the one that waits for it."""
    train = [mpich, "train", "--model", "mlp:hidden=8", "--batch", "8", "--steps", "4", "--quiet", "--data"]
    result = h.run(["mpiexec.mpich", "-n", "1", *train, "fashion-mnist", ":", "-n", "1", *train,
                    "fashion-mnist:path=nowhere"], folder)
    result.expect((2, 3), "tacit: data set fashion_mnist: the folder nowhere is missing", "tacit: rank 0 lost rank 1: ")
    h.show("a rank without its data:", *result.lines("nowhere is missing")[:2])


def refuses_the_others_launcher(launcher, tacit, folder):
    result = h.run([*launcher, "-n", "2", tacit, *h.TRAIN], folder)
    result.expect(2, "of 2 to its launcher and rank 0 of 1 to its MPI library",
                  "use the launcher of the MPI that Tacit was built with")
    h.check("weights_hash" not in result.out, "a world of one has trained", result)
    h.show(f"{launcher[0]} with the other's program:", *result.lines("to its launcher")[:1])


def main(source, cmake, tacit):
    with h.scratch() as folder:
        mpich = build(source, cmake, folder)
        trains(mpich, folder)
        fails_together(mpich, folder)
        refuses_the_others_launcher(open_mpi(), mpich, folder)
        refuses_the_others_launcher(["mpiexec.mpich"], tacit, folder)


main(*sys.argv[1:])
