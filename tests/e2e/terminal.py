"""A terminal for tests: a pseudo-terminal and enough of an emulator to see what a user would see, to check that no line is
longer than the width, and that the terminal is restored at the end."""
import fcntl
import pty
import re
import select
import struct
import termios

from harness import *


class Screen:
    """Rows of characters, a scroll region and a cursor. `overflow` counts characters written past the last column, except
    those that were on their way when the size changed: until rows are reserved in the new size, `fitted` is false."""

    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.cursor, self.saved, self.hidden, self.overflow, self.foreign = [0, 0], [0, 0], False, 0, []
        self.rest = ""

    def resize(self, columns, rows):
        old = getattr(self, "lines", [])
        self.columns, self.rows, self.top, self.bottom, self.fitted = columns, rows, 0, rows - 1, False
        self.lines = [(old[i] if i < len(old) else "")[:columns] for i in range(rows)]
        if hasattr(self, "cursor"):
            self.cursor = [min(self.cursor[0], rows - 1), min(self.cursor[1], columns - 1)]
            self.saved = [min(self.saved[0], rows - 1), min(self.saved[1], columns - 1)]

    def down(self):
        if self.cursor[0] == self.bottom:
            del self.lines[self.top]
            self.lines.insert(self.bottom, "")
        elif self.cursor[0] < self.rows - 1:
            self.cursor[0] += 1

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                found = re.compile(r"\x1b(?:([78DM])|\[(\??[0-9;]*)([A-Za-z]))").match(text, at)
                if not found:
                    if len(text) - at < 12:
                        self.rest = text[at:]
                        return
                    self.foreign.append(text[at:at + 12])
                    at += 1
                    continue
                self.order(*found.groups())
                at = found.end()
                continue
            at += 1
            if c == "\n":
                self.down()
            elif c == "\r":
                self.cursor[1] = 0
            elif ord(c) < 32:
                self.foreign.append(c)
            else:
                if self.cursor[1] >= self.columns:
                    self.overflow += self.fitted
                    self.cursor[1] = 0
                    self.down()
                row, column = self.cursor
                line = self.lines[row].ljust(column)
                self.lines[row] = line[:column] + c + line[column + 1:]
                self.cursor[1] += 1

    def order(self, short, numbers, letter):
        if short == "7":
            self.saved = list(self.cursor)
        elif short == "8":
            self.cursor = list(self.saved)
        elif short == "D":
            self.down()
        if short:
            return
        if numbers.startswith("?"):
            if numbers == "?25":
                self.hidden = letter == "l"
            return
        values = [int(number) for number in numbers.split(";") if number]
        first = values[0] if values else 0
        if letter == "H":
            self.cursor = [min(max(first, 1), self.rows) - 1, (values[1] if len(values) > 1 else 1) - 1]
        elif letter == "A":
            self.cursor[0] = max(self.cursor[0] - max(first, 1), 0)
        elif letter == "r":
            self.top, self.bottom = (first - 1, values[1] - 1) if len(values) > 1 else (0, self.rows - 1)
            self.bottom = min(self.bottom, self.rows - 1)
            self.fitted |= self.bottom < self.rows - 1
            self.cursor = [0, 0]
        elif letter == "K":
            self.lines[self.cursor[0]] = "" if first == 2 else self.lines[self.cursor[0]][:self.cursor[1]]
        elif letter == "J":
            self.lines[self.cursor[0]] = self.lines[self.cursor[0]][:self.cursor[1]]
            for row in range(self.cursor[0] + 1, self.rows):
                self.lines[row] = ""
        elif letter != "m":
            self.foreign.append(letter)

    def text(self):
        return "\n".join(self.lines)

    def whole(self):
        """All rows scroll and the cursor is to be seen."""
        return (self.top, self.bottom) == (0, self.rows - 1) and not self.hidden


class OnTerminal:
    """The program on a pseudo-terminal of so many columns and rows."""

    def __init__(self, folder, *arguments, columns=80, rows=24, env=None):
        self.screen, self.all = Screen(columns, rows), ""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
            os.environ.pop("NO_COLOR", None) if not (env or {}).get("NO_COLOR") else None
            time.sleep(0.2)  # for the size to be set
            os.execv(PROGRAM, [PROGRAM, *map(str, arguments)])
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.screen.resize(columns, rows)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """What comes within this time; false at the end of the program."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.file], [], [], left)[0]:
                break
            try:
                data = os.read(self.file, 65536)
            except OSError:
                return False
            if not data:
                return False
            text = data.decode(errors="replace")
            self.all += text
            self.screen.feed(text)
        return True

    def until(self, what, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if what(self.screen):
                return
            if not self.read(0.2):
                break
        assert what(self.screen), f"not seen on:\n{self.screen.text()}"

    def type(self, text):
        os.write(self.file, text.encode())

    def end(self, seconds=120):
        """The exit code, once the program has ended."""
        until = time.monotonic() + seconds
        while self.read(0.5) and time.monotonic() < until:
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.file)
        return os.waitstatus_to_exitcode(status)
