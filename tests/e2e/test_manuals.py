"""Manual pages and completions of every command are made from the options and are valid."""

import re
import shutil
import subprocess

from harness import *


def ask(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True).stdout


def check(tool, *arguments, text):
    if not shutil.which(tool):
        print(f"no {tool} here: not checked")
        return None
    ended = subprocess.run([tool, *arguments], input=text, capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and not ended.stderr, f"{tool} {arguments}: {ended.returncode} {ended.stderr}"
    return ended.stdout


commands = re.findall(r"^  ([a-z]+) ", ask("--help").split("Commands:")[1].split("Options:")[0], re.M)
assert {"train", "watch", "completion"} <= set(commands), commands
options = {command: set(re.findall(r"^  (?:-[a-z], )?(--[a-z0-9-]+)", ask(command, "--help"), re.M)) for command in commands}

for command in (None, *commands):
    page = ask("man", *([command] if command else []))
    shown = check("mandoc", "-Tlint", "-Wwarning", text=page)
    shown = check("man", "--warnings", "-E", "UTF-8", "-l", "-", text=page)
    plain = page.replace("\\-", "-")
    for option in options.get(command, ()):
        assert re.search(rf"^\.B .*{option}\b", plain, re.M), f"plimsoll-{command}.1 lacks {option}"
    if shown and command:
        assert f"plimsoll-{command}" in shown and "EXIT STATUS" in shown, shown

for shell in ("bash", "zsh", "fish"):
    text = ask("completion", shell)
    check(shell, "-n" if shell != "fish" else "--no-execute", text=text)
    for command in commands:
        assert re.search(rf"\b{command}\b", text), f"{shell} does not know {command}"
        for option in options[command] - {"--help"}:
            wanted = f"-l {option[2:]}" if shell == "fish" else option
            assert wanted in text, f"{shell} does not know {command} {option}"


def complete(*words):
    """What bash offers for the last word."""
    script = ask("completion", "bash") + f"""
COMP_WORDS=(plimsoll {' '.join(f"'{word}'" for word in words)}); COMP_CWORD={len(words)}; _plimsoll; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return subprocess.run(["bash", "--norc"], input=script, capture_output=True, text=True, check=True).stdout.split()


assert complete("tra") == ["train"], complete("tra")
assert complete("train", "--checkpoint-e") == ["--checkpoint-every"]
assert complete("train", "--guard", "o") == ["on", "off"], complete("train", "--guard", "o")
assert "--fail-on-leak" in complete("watch", "--")
assert "bash" in complete("watch", "--", "bas"), "the program after -- is not completed"
print(f"{len(commands)} commands: pages and completions hold")
