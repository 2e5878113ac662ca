"""Text as it comes: CRLF and byte-order marks are no characters, and a terminal never gets raw escape bytes of a model or an
argument."""

import pty

from harness import *

TINY = ["--tiny", 30, "--eval-every", 0, "--sample-every", 0]


def on_terminal(folder, *arguments):
    """What the program writes to a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=folder, stdin=slave, stdout=slave, stderr=slave, env=environment())
    os.close(slave)
    written = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    os.close(master)
    assert process.wait() == 0, written
    return written


with Temporary() as place:
    at = place.path
    plain = "".join(f"line {n} of the text\n" for n in range(2000))
    (at / "lf.txt").write_bytes(plain.encode())
    (at / "crlf.txt").write_bytes(b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode())
    run(at, "train", *TINY, "--data", "lf.txt", "--out", "lf")
    said = run(at, "train", *TINY, "--data", "crlf.txt", "--out", "crlf")
    assert "2,000 line ends are CRLF" in said.out and "byte-order mark" in said.out, said
    same_checkpoint(at / "lf", at / "crlf", 30)
    one, other = (run(at, "eval", "lf", "--data", name, "--json").json() for name in ("lf.txt", "crlf.txt"))
    assert one == other, (one, other)

    large = "".join(f"line {n} of the text of the text\n" for n in range(100_000))
    (at / "large.txt").write_text(large)
    some = run(at, "eval", "lf", "--data", "large.txt", "--json", expect=None)
    assert some.code == 0, some
    targets = len(large) - len(large) * 9 // 10 - 1
    assert some.json()["tokens"] < targets == some.json()["tokens_in_data"], some
    assert run(at, "eval", "lf", "--data", "large.txt", "--all", "--json").json()["tokens"] == len(large) - 1

    (at / "escapes.txt").write_bytes(b"\x1b[31m\x9b\xc2\x9b\x07" * 3000)
    run(at, "train", *TINY, "--data", "escapes.txt", "--tokenizer", "bytes", "--out", "escapes")
    written = on_terminal(at, "sample", "escapes", "--length", 200)
    assert b"\\x1b" in written, written
    assert not any(byte < 0x20 and byte not in b"\r\n\t" for byte in written) and b"\xc2\x9b" not in written, written
    raw = subprocess.run([PROGRAM, "sample", "escapes", "--length", "200"], cwd=at, capture_output=True).stdout
    assert b"\x1b" in raw, "a file gets the bytes as they are"

    for arguments in (["train", "--data", "\x1b[31mx"], ["\x1b[31m"], ["train", "--\x1b[31m"], ["sample", "\x1b[2J"], ["train", "--lr", "\x1b[31m"]):
        refused = run(at, *arguments, expect=2)
        assert "\x1b" not in refused.err and "\\x1b" in refused.err, refused
    print("no raw escapes")
