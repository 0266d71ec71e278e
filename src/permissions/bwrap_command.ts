import { shellWord } from "../shared/shell_word.ts";
import type { Sandbox } from "./sandbox.ts";

/** Returns a command that runs `monitor` with bubblewrap, in the syntax of a POSIX shell: one option a line. */
export function bwrapCommand(sandbox: Sandbox, command: readonly string[]): string {
  const { readOnly, writable, network } = sandbox;
  const isWhole = readOnly.includes("/");
  const lines: readonly (readonly string[])[] = [
    ["bwrap", "--die-with-parent", "--cap-drop", "ALL"],
    // Otherwise root could read all files, as /proc/ID/root of the bwrap process outside, which has no more rights.
    ["--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...network.kind === "none" ? [["--unshare-net"]] : [],
    ...isWhole ? [["--ro-bind", "/", "/"]] : [],
    ["--dev", "/dev"],
    // The process ids stay those of the machine: the state and checks of processes name them.
    ["--ro-bind", "/proc", "/proc"],
    ["--ro-bind-try", "/sys/fs/cgroup", "/sys/fs/cgroup"],
    ["--tmpfs", "/tmp"],
    ...readOnly.filter((path) => path !== "/").map((path) => ["--ro-bind-try", path, path]),
    ...writable.map((path) => ["--bind", path, path]),
    ["--ro-bind-try", command[0] ?? "", command[0] ?? ""],
    ...isWhole ? [] : [["--remount-ro", "/"]],
    ["--", ...command],
  ];
  return `${lines.map((words) => words.map(shellWord).join(" ")).join(" \\\n  ")}\n`;
}
