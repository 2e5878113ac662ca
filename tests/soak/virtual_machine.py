"""Runs the memory bombs in a virtual machine whose kernel has control groups of version 2 with their memory controller.

python3 tests/soak/virtual_machine.py build/plimsoll [--kernel VMLINUZ] [group/private …]

Needs qemu-system-x86 and cpio, and Debian's kernel for virtual machines, which is fetched unless one is given; busybox-static
is its shell. The machine is emulated in software, so it is slow and everything in it is late.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PYTHON = Path("/usr/bin/python3.11")  # Debian's: nearly everything is built into it
LIBRARY = Path("/usr/lib/python3.11")
MEMORY_MB, CORES, SECONDS = 3072, 2, 3000  # a bomb of 2 GB must be allowed to map it
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /tmp && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
export PATH=/bin:/usr/bin PLIMSOLL_SPECIMENS=/plimsoll/specimens PYTHONDONTWRITEBYTECODE=1
echo "kernel $(uname -r), controllers: $(cat /sys/fs/cgroup/cgroup.controllers)"
cd /plimsoll
{command}
echo "exit code $?"
poweroff -f
"""


def fetch_kernel(folder):
    """The newest of Debian's kernels for virtual machines: everything needed to boot is built into it."""
    depends = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True, check=True).stdout
    package = re.search(r"Depends: (linux-image-\S+)", depends)[1]
    subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["dpkg", "-x", next(folder.glob("linux-image-*.deb")), folder / "kernel"], check=True)
    return next((folder / "kernel/boot").glob("vmlinuz-*"))


def libraries(program):
    """What the loader maps for it, the loader included."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", out)


def put(root, source, name=None):
    target = root / (name or str(source)).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(source, target)


def make_root(root, program, command):
    for folder in ("proc", "sys", "dev", "bin"):
        (root / folder).mkdir(parents=True)
    put(root, "/bin/busybox")
    put(root, program, "plimsoll/plimsoll")
    specimens = Path(os.environ.get("PLIMSOLL_SPECIMENS", program.parent / "specimens"))
    for name in ("bombs", "quiet_neighbour"):
        put(root, specimens / name, f"plimsoll/specimens/{name}")
    put(root, PYTHON, "/usr/bin/python3")
    shutil.copytree(LIBRARY, root / str(LIBRARY).lstrip("/"), ignore=shutil.ignore_patterns("test*", "idlelib", "ensurepip", "config-*"))
    for script in (TESTS / "e2e").glob("*.py"):
        put(root, script, f"plimsoll/tests/e2e/{script.name}")
    for one in (program, specimens / "bombs", PYTHON, *(LIBRARY / "lib-dynload").glob("*.so")):
        for library in libraries(one):
            put(root, library)
    (root / "init").write_text(INIT.replace("{command}", command))
    (root / "init").chmod(0o755)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--kernel", type=Path)
    parser.add_argument("--long", action="store_true", help="all bombs, held to the limit and 5 %%")
    parser.add_argument("bombs", nargs="*")
    given = parser.parse_intermixed_args()
    for needed in ("qemu-system-x86_64", "cpio"):
        if not shutil.which(needed):
            print(f"skipped: {needed} is not installed")
            return 77
    bombs = [*(["--long"] if given.long else []), *given.bombs]
    command = shlex.join(["python3", "tests/e2e/test_bombs.py", "plimsoll", *bombs])
    with tempfile.TemporaryDirectory(prefix="plimsoll-machine-") as name:
        folder = Path(name)
        kernel = given.kernel or fetch_kernel(folder)
        make_root(folder / "root", given.program.resolve(), command)
        with open(folder / "initrd", "wb") as archive:
            names = subprocess.run(["find", ".", "-print0"], cwd=folder / "root", capture_output=True, check=True).stdout
            subprocess.run(["cpio", "--quiet", "-0", "-o", "-H", "newc"], cwd=folder / "root", input=names, stdout=archive, check=True)
        machine = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(CORES), "-m", str(MEMORY_MB), "-nographic",
             "-no-reboot", "-nic", "none", "-kernel", kernel, "-initrd", folder / "initrd", "-append",
             "console=ttyS0 quiet panic=-1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
        code = None
        try:
            for line in machine.stdout:
                print(line, end="", flush=True)
                if found := re.match(r"exit code (\d+)", line):
                    code = int(found[1])
            machine.wait(SECONDS)
        finally:
            machine.kill()
            machine.wait()
    return 1 if code is None else code


if __name__ == "__main__":
    sys.exit(main())
