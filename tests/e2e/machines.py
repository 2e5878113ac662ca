"""Several "machines" on one: a network namespace each, a TAP device in it, and a relay in user space that carries frames between
them with a delay, a bandwidth and a loss of their own. (The kernel's netem would do the same where it is built in.)

    with Machines(2, delay=0.0002, bandwidth=1e9, loss=0) as machines:
        subprocess.run(machines.mpirun(1, program, "train", ...))

Needs root, /dev/net/tun and Open MPI. The relay counts what it carried: machines.carried.
"""
import fcntl
import heapq
import multiprocessing
import os
import pathlib
import random
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
# Jumbo frames: the relay has a processor's share of the ranks' own machine.
MTU = 9000


def possible():
    return os.geteuid() == 0 and os.path.exists("/dev/net/tun") and shutil.which("ip") and shutil.which("mpirun.openmpi")


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def open_tap(namespace):
    """A TAP device in the namespace, opened by a thread of ours that goes there and back."""
    home, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        os.setns(there, CLONE_NEWNET) if hasattr(os, "setns") else _setns(there)
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", b"net0", IFF_TAP | IFF_NO_PI))
        return tap
    finally:
        os.setns(home, CLONE_NEWNET) if hasattr(os, "setns") else _setns(home)
        os.close(home), os.close(there)


def _setns(descriptor):
    import ctypes
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def relay(taps, delay, bandwidth, loss, cut, carried, lost):
    """Every machine has a line of `bandwidth` bits a second to a switch; what arrives there is sent on after `delay` seconds."""
    chance = random.Random(1)
    free, queue, number, home = [0.0] * len(taps), [], 0, {}
    while True:
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            _, _, to, frame = heapq.heappop(queue)
            for each in range(len(taps)) if to is None else (to,):
                if each == frame[0]:
                    continue
                try:
                    os.write(taps[each], frame[1])
                except OSError:  # its queue is full: a switch drops it too
                    pass
        ready, _, _ = select.select(taps, [], [], max(0, queue[0][0] - now) if queue else 1)
        for tap in ready:
            origin = taps.index(tap)
            for _ in range(32):
                try:
                    frame = os.read(tap, 65536)
                except BlockingIOError:
                    break
                home[frame[6:12]] = origin
                if cut.value & (1 << origin):
                    continue
                carried[origin] += len(frame)
                if loss and chance.random() < loss:
                    lost.value += 1
                    continue
                now = time.monotonic()
                free[origin] = max(free[origin], now) + 8 * len(frame) / bandwidth
                to = home.get(frame[0:6])
                if to is not None and cut.value & (1 << to):
                    continue
                number += 1
                heapq.heappush(queue, (free[origin] + delay, number, to, (origin, frame)))


class Machines:
    def __init__(self, count, delay=0.0, bandwidth=1e10, loss=0.0):
        self.names = [f"plimsoll{os.getpid()}x{i}" for i in range(count)]
        self.how = (delay, bandwidth, loss)

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        taps = []
        for i, name in enumerate(self.names):
            ip("netns", "add", name)
            taps.append(open_tap(name))
            ip("-n", name, "addr", "add", f"10.97.0.{i + 1}/24", "dev", "net0")
            ip("-n", name, "link", "set", "net0", "mtu", str(MTU), "up")
            ip("-n", name, "link", "set", "lo", "up")
        self.cut = multiprocessing.Value("i", 0)
        self.frames_lost = multiprocessing.Value("i", 0)
        self.carried = multiprocessing.Array("q", len(taps), lock=False)
        self.relay = multiprocessing.get_context("fork").Process(
            target=relay, args=(taps, *self.how, self.cut, self.carried, self.frames_lost), daemon=True)
        self.relay.start()
        for tap in taps:
            os.close(tap)
        # In the place of ssh: the other machine is a namespace with a host name of its own.
        self.agent = pathlib.Path(self.folder.name) / "agent"
        self.agent.write_text("#!/bin/sh\nhost=$1; shift\nindex=$((${host##*.} - 1))\n"
                              f"exec ip netns exec plimsoll{os.getpid()}x$index unshare --uts "
                              "sh -c 'hostname node$0; exec sh -c \"$*\"' $index \"$@\"\n")
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        self.relay.kill()
        self.relay.join()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        self.folder.cleanup()

    def end_launchers(self):
        """Everything that is left on the machines."""
        for name in self.names:
            for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def disconnect(self, machine):
        self.cut.value |= 1 << machine

    def mpirun(self, ranks_each, *command, options=()):
        """mpirun on the first machine, so many ranks on every one of them."""
        hosts = ",".join(f"10.97.0.{i + 1}:{ranks_each}" for i in range(len(self.names)))
        return ["ip", "netns", "exec", self.names[0], "unshare", "--uts", "sh", "-c", 'hostname node0; exec "$@"', "sh",
                "mpirun.openmpi", "--allow-run-as-root", "--host", hosts, "-n", str(ranks_each * len(self.names)),
                "--bind-to", "none", "--oversubscribe", "--mca", "plm_rsh_agent", str(self.agent),
                "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "btl", "tcp,self", "--mca", "pml", "ob1",
                "--mca", "btl_tcp_if_include", "net0", "--mca", "oob_tcp_if_include", "net0", *options, *command]
