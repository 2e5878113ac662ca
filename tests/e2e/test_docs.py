#!/usr/bin/env python3
"""Checks the documentation against the program: commands and flags exist, links are valid, every command has a page."""
import re
import shlex
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
program = sys.argv[1]
pages = sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])
problems = []


def help_of(*arguments):
    return subprocess.run([program, *arguments, "--help"], capture_output=True, text=True, check=True).stdout


def flags_in(text):
    """Long flags in a help text's first column."""
    return {flag for line in text.splitlines() if re.match(r"\s+-", line)
            for flag in re.findall(r"--[a-z0-9][a-z0-9-]*", line[:36])}


commands = re.findall(r"^  ([a-z]+) ", help_of().split("Commands:")[1].split("Options:")[0], re.M)
flags = {command: flags_in(help_of(command)) | {"--help"} for command in commands}


def command_lines(text):
    """Lines of fenced or indented code that call the program, and inline code that begins with its name."""
    fenced = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S)
    candidates = [line for block in fenced for line in block.replace("\\\n", " ").splitlines()]
    candidates += [line.strip() for line in text.splitlines() if line.startswith("    ")]
    candidates += re.findall(r"`([^`\n]+)`", text)
    for line in candidates:
        found = re.match(r"(?:\$ )?(?:build/)?plimsoll ((?:--)?[a-z].*)", line.strip())
        if found:
            yield found.group(1)


def check_command(page, line):
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        problems.append(f"{page}: `plimsoll {line}`: {error}")
        return
    if words[0].startswith("--"):
        return
    if words[0] not in flags:
        problems.append(f"{page}: `plimsoll {line}`: no such command")
        return
    for word in words[1:]:
        if word in ("--", "|", ">", "&&", ";"):
            break
        flag = word.split("=")[0]
        if re.match(r"--[a-z]", flag) and flag not in flags[words[0]]:
            problems.append(f"{page}: `plimsoll {line}`: {words[0]} has no {flag}")


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def check_links(page, name, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            problems.append(f"{name}: link to {target}: no such file")
        elif anchor and anchor not in anchors(file):
            problems.append(f"{name}: link to {target}: no such heading")


def check_help():
    for command in commands:
        text = help_of(command)
        for part in ("Example:", "Exit codes:", f"plimsoll {command}"):
            if part not in text:
                problems.append(f"plimsoll {command} --help lacks '{part}'")
        example = text.split("Example:")[1].split("Exit codes:")[0]
        for line in example.strip().splitlines():
            if line.strip().startswith("plimsoll "):
                check_command(f"{command} --help", line.strip().removeprefix("plimsoll "))
        page = root / "docs" / ("configuration.md" if command == "config" else f"{command}.md")
        if not page.exists():
            problems.append(f"plimsoll {command} has no page {page.relative_to(root)}")


checked = 0
for page in pages:
    name, text = str(page.relative_to(root)), page.read_text()
    for line in command_lines(text):
        check_command(name, line)
        checked += 1
    check_links(page, name, text)
    for path in re.findall(r"(?<![\w.~])/(?:home|work|root|tmp|opt|mnt|Users)/[\w./-]+", text):
        problems.append(f"{name}: {path} is a path of one machine")
check_help()

readme = (root / "README.md").read_text()
for command in commands:
    if f"`plimsoll {command}" not in readme:
        problems.append(f"README.md does not name plimsoll {command}")

for target in set(re.findall(r"`?make ([a-z-]+)`?", "\n".join(re.findall(r"`make [a-z-]+`", readme)))):
    if not re.search(rf"^{target}:", (root / "Makefile").read_text(), re.M):
        problems.append(f"README.md: make {target}: no such target")

for problem in problems:
    print(problem)
print(f"{len(pages)} pages, {checked} command lines, {len(commands)} commands: {len(problems)} problems")
sys.exit(1 if problems else 0)
