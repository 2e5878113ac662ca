"""The Python interpreters of this machine whose frames are read."""
import glob
import os
import re
import sys


def pythons():
    """One interpreter of each version from 3.9 to 3.13 that is here, and the system's, which has no symbols for its own functions."""
    found = {}
    for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")) + glob.glob("/usr/bin/python3.*")):
        version = re.search(r"3\.(\d+)", path)
        if version and 9 <= int(version[1]) <= 13 and not path.endswith("-config"):
            found.setdefault(int(version[1]), path)
    here = list(found.values()) or [sys.executable]
    system = "/usr/bin/python3"
    return here + [system] if os.path.exists(system) and os.path.realpath(system) not in map(os.path.realpath, here) else here
