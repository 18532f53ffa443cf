# SPDX-License-Identifier: MIT
"""What examples/cluster/ has for Kubernetes and systemd, as far as it goes without them: read, and its commands run with
   what they would be given.
   examples_test.py TACIT FOLDER"""
import contextlib
import os
import shlex
import shutil
import signal
import sys

import harness as h

try:
    import yaml
except ImportError:
    h.skip("Python has no yaml; install python3-yaml")


def documents(path):
    with open(path, encoding="utf-8") as file:
        return {document["kind"]: document for document in yaml.safe_load_all(file)}


def expect_whole(service, job):
    """What the parts of the file must have in common."""
    spec, name = job["spec"], job["metadata"]["name"]
    pod, container = spec["template"]["spec"], spec["template"]["spec"]["containers"][0]
    plain = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    h.check(spec["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never", "not an indexed job", spec)
    h.check(spec["completions"] == spec["parallelism"] == int(plain["TACIT_SIZE"]), "three numbers of ranks", plain)
    h.check(service["spec"]["selector"] == {"job-name": name}, "the service finds no pod", service)
    h.check(service["metadata"]["name"] == pod["subdomain"], "pods have no names", pod)
    h.check(plain["TACIT_RENDEZVOUS"].startswith(f"tcp://{name}-0.{pod['subdomain']}:"), "not rank 0's name", plain)
    mounts = {each["name"] for each in container["volumeMounts"]}
    h.check(mounts == {each["name"] for each in pod["volumes"]}, "other volumes than mounts", mounts)


def environment_of(container, index, job):
    """As a pod's: the index is an annotation, and a variable that Kubernetes adds."""
    index_path = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    env = h.clean_environment() | {"JOB_COMPLETION_INDEX": str(index), "HOSTNAME": f"{job}-{index}"}
    for each in container["env"]:
        if "valueFrom" in each:
            h.check(each["valueFrom"]["fieldRef"]["fieldPath"] == index_path, "not the index", each)
        env[each["name"]] = each.get("value", str(index))
    return env


def kubernetes(tacit, folder, path):
    found = documents(path)
    job = found["Job"]
    expect_whole(found["Service"], job)
    container = job["spec"]["template"]["spec"]["containers"][0]
    size = job["spec"]["completions"]
    # Here there is neither the secret's folder nor the name of rank 0's pod; the rest is the file's.
    with open(os.path.join(folder, "key"), "w", encoding="utf-8") as file:
        file.write(os.urandom(32).hex())
    port = h.free_ports(1)[0]
    words = [word.replace("/run/tacit/key", os.path.join(folder, "key")) for word in container["command"]]
    with contextlib.ExitStack() as stack:
        pods = []
        for index in range(size):
            env = environment_of(container, index, job["metadata"]["name"])
            env["TACIT_RENDEZVOUS"] = f"tcp://127.0.0.1:{port}"
            env["PATH"] = os.path.dirname(tacit) + ":" + env["PATH"]
            pods.append(stack.enter_context(h.Running([*words, *h.TRAIN[1:]], folder, env, f"pod{index}")))
        results = [pod.wait().expect(0) for pod in pods]
    want = h.hash_with_threads(tacit, folder, size)
    h.show("tacit-job.yaml, its pods as processes: " + h.expect_world(results[0], "tcp+tls", size, want))
    h.check(not any(result.out for result in results[1:]), "another rank than 0 speaks")


def read_unit(path):
    unit = {}
    for line in h.read(path).splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            unit[key] = value
    return unit


def command_of(unit, tacit, values):
    """ExecStart's words as systemd makes them: ${NAME} within a word, and $NAME as several."""
    words = []
    for word in unit["ExecStart"].replace("/usr/bin/tacit", tacit).split():
        if word.startswith("$") and not word.startswith("${"):
            words += shlex.split(values[word[1:]])
        else:
            words.append(word.replace("${RANKS}", values["RANKS"]))
    return words


def verify(folder, path, tacit):
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        return "systemd-analyze is not here"
    copy = os.path.join(folder, "tacit@.service")
    with open(copy, "w", encoding="utf-8") as file:
        file.write(h.read(path).replace("/usr/bin/tacit", tacit))
    result = h.run([analyze, "verify", "--man=no", os.path.join(folder, "tacit@digits.service")], folder)
    about = result.lines("tacit@")
    h.check(result.code == 0 and not about, "systemd would not take it", result)
    return "systemd-analyze verify has nothing to say"


def systemd(tacit, folder, path):
    said = verify(folder, path, tacit)
    unit = read_unit(path)
    values = {"RANKS": "2", "ARGS": " ".join(h.TRAIN[1:])}
    want = h.hash_with_threads(tacit, folder, 2)
    result = h.run(command_of(unit, tacit, values), folder)
    h.show(f"tacit@.service: {said}; its command: " + h.expect_world(result, "tcp+tls", 2, want))
    # systemctl stop: with KillMode=mixed the first process alone gets SIGTERM.
    h.check(unit["KillMode"] == "mixed" and unit["SuccessExitStatus"] == "143", "it stops in another way", unit)
    values["ARGS"] = " ".join(h.ENDLESS[1:] + ["--out", "run"])
    with h.Running(command_of(unit, tacit, values), folder) as job:
        job.says("epoch 1.00")
        job.process.send_signal(signal.SIGTERM)
        stopped = job.wait().expect(143, "interrupted")
    h.check('"interrupted"' in h.read(os.path.join(folder, "run", "summary.json")), "no account is left", stopped)
    h.show("stopped as systemctl does:", *stopped.lines("tacit launch: "))


def main(tacit, examples):
    with h.scratch() as folder:
        own = os.path.join(folder, "tacit")
        os.symlink(tacit, own)
        kubernetes(own, folder, os.path.join(examples, "tacit-job.yaml"))
        systemd(own, folder, os.path.join(examples, "tacit@.service"))
        h.expect_nobody_left(own + " ")


main(*sys.argv[1:])
