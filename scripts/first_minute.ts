/**
 * Writes the first minute with the program into the README, between two marks: the output of commands in a new
 * directory. Times, durations and the disk's numbers are replaced by fixed ones. A test fails if the README shows
 * something else.
 *
 *     deno run -A scripts/first_minute.ts
 */
import { fileURLToPath } from "node:url";
import { run } from "../src/cli/run.ts";
import { createMemorySystem } from "../testing/memory_system.ts";

const PROJECT = fileURLToPath(new URL("..", import.meta.url));
const README = `${PROJECT}README.md`;
const BEGIN = "<!-- What follows is made by scripts/first_minute.ts. -->\n\n```console\n";
const END = "```\n\n<!-- Up to here. -->\n";

/** Runs `monitor` in the working directory, and returns its whole output. */
type RunMonitor = (...args: readonly string[]) => Promise<string>;

/** The commands of the first minute, and what they do. */
const COMMANDS: Readonly<Record<string, (monitor: RunMonitor) => Promise<string>>> = {
  "monitor init": (monitor) => monitor("init"),
  "monitor check --once": (monitor) => monitor("check", "--once"),
  [`sed -i 's/"condition": "ok"/"condition": "critical"/' monitor.jsonc   # let a check fail`]: async () => {
    const text = await Deno.readTextFile("monitor.jsonc");
    await Deno.writeTextFile(
      "monitor.jsonc",
      text.replaceAll('"condition": "ok"', '"condition": "critical"'),
    );
    return "";
  },
  "for run in 1 2 3; do monitor check --once example; done | tail -n 1": async (monitor) => {
    let text = "";
    for (let count = 0; count < 3; count++) text = await monitor("check", "--once", "example");
    return `${text.trimEnd().split("\n").at(-1)}\n`;
  },
};

/**
 * Inserts a transcript between the marks of the README.
 *
 * @throws {Error} If the marks are missing.
 */
export function withFirstMinute(readme: string, transcript: string): string {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new Error("Cannot find the marks of the first minute in README.md");
  return `${readme.slice(0, begin + BEGIN.length)}${transcript}${readme.slice(end)}`;
}

/** Runs the commands in this process, and returns the output of a terminal. */
export async function runFirstMinute(): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_first_minute_" });
  const before = Deno.cwd();
  Deno.chdir(directory);
  try {
    let transcript = "";
    for (const [command, play] of Object.entries(COMMANDS)) {
      transcript += `$ ${command}\n${normalise(await play(runMonitor))}`;
    }
    return transcript;
  } finally {
    Deno.chdir(before);
    await Deno.remove(directory, { recursive: true });
  }
}

async function runMonitor(...args: readonly string[]): Promise<string> {
  const workingDirectory = Deno.cwd();
  const environment = { NO_COLOR: "1", HOME: workingDirectory, PATH: "/usr/local/bin:/usr/bin:/bin" };
  const system = createMemorySystem({ environment, workingDirectory, timeZone: "UTC" });
  await run(args, { ...system, stderr: system.stdout });
  return system.stdout.text();
}

/** The word and the name, how long, and the output. */
const ROW = /^([A-Z]+ +\S(?:.*?\S)?) {2,}((?:\d[\d.]* (?:ms|s|min|h|d) ?)+) (.*)$/;
const HEADER = /^(state +check) +(for) {2}(output)$/;

/** Replaces values that differ between runs, and aligns the tables again. */
function normalise(text: string): string {
  const lines = text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "2026-01-31T10:00:00Z")
    .replaceAll(/\bin \d[\d.]* (?:ms|s)(?=,|$)/gm, "in 31 ms")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, "2026-01-31 10:00:00 UTC")
    .replaceAll(/(?<=\(CRITICAL)(?: for \d+ s)?(?=, was)/g, " for 3 s")
    .replaceAll(/free \d.*\)$/gm, "free 58% (58 GB of 100 GB); free inodes 97% (970000 of 1000000)")
    .split("\n");
  const hasHeader = lines.some((line) => HEADER.test(line));
  const rows = lines.map((line) => HEADER.exec(line) ?? ROW.exec(line));
  const nameColumns = Math.max(...rows.map((row) => row?.[1]?.length ?? 0));
  const duration = hasHeader ? "4 s" : "12 ms";
  return lines.map((line, index) => {
    const [, head, middle, output = ""] = rows[index] ?? [];
    if (head === undefined || middle === undefined) return line;
    return `${head.padEnd(nameColumns)}  ${middle === "for" ? middle : duration}  ${output.trimStart()}`
      .trimEnd();
  }).join("\n");
}

if (import.meta.main) {
  await Deno.writeTextFile(README, withFirstMinute(await Deno.readTextFile(README), await runFirstMinute()));
}
