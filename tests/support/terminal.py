"""Runs a program on a terminal of its own and types lines, each once the prompt is there: terminal.py PROMPT PROGRAM…

The lines come on standard input as a JSON list; what the terminal showed goes to standard output.
"""

import json
import os
import pty
import select
import sys

DEADLINE_S = 120

prompt = sys.argv[1].encode()
lines = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b""
answered = 0
while True:
    ready, _, _ = select.select([terminal], [], [], DEADLINE_S)
    if not ready:
        os.kill(pid, 9)
        sys.stderr.write("the terminal fell silent\n")
        break
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    # The prompt may be drawn again; only what follows the last line counts.
    if lines and prompt in shown[answered:]:
        answered = len(shown)
        os.write(terminal, lines.pop(0).encode())
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
