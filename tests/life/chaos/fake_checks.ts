/** Checks with any result that the campaign chooses, which record each result. */
import type { Condition } from "../../../src/domain/condition.ts";
import type { Harness } from "../program.ts";
import type { FakeCheck, Shown } from "./model.ts";
import type { Random } from "../../../testing/random.ts";

/** By exit code. */
const CONDITIONS: readonly Condition[] = ["ok", "warning", "critical", "unknown"];

/** Eight of them, of every threshold and for every channel. */
export const CHECKS: readonly FakeCheck[] = Array.from({ length: 8 }, (_, index) => ({
  name: `check-${index}`,
  threshold: [1, 1, 1, 2, 3][index % 5] ?? 1,
  recoveryThreshold: [1, 1, 2, 1, 3][index % 5] ?? 1,
  channels: [["hook", "mail"], ["hook", "mail", "single"], ["mail"], ["hook"]][index % 4] ?? [],
}));

/** The interval of each check in a service. */
export const INTERVAL_SECONDS = 1;

/** A command without children: it notes its result before any process can read it. */
const SCRIPT = `read -r code <"$1"
read -r token </proc/sys/kernel/random/uuid
printf '%s %s %s\\n' "$1" "$code" "$token" >>shown
echo "$token"
exit "$code"`;

/** Writes the commands of the checks; all of them are ok. */
export function writeChecks(harness: Harness): void {
  harness.writeScript("look", SCRIPT);
  Deno.writeTextFileSync(shownPath(harness), "");
  for (const { name } of CHECKS) show(harness, name, "ok");
}

/** Writes the config, in one step. */
export function writeFakeConfig(
  { directory }: Harness,
  { channels, state, others }: {
    readonly channels: Readonly<Record<string, unknown>>;
    readonly state: string;
    /** Checks that are not counted. */
    readonly others: Readonly<Record<string, unknown>>;
  },
): void {
  const checks = Object.fromEntries(CHECKS.map((check) => [check.name, {
    kind: "script",
    parameters: { path: "./look", arguments: [check.name] },
    threshold: check.threshold,
    recovery_threshold: check.recoveryThreshold,
    notifications: check.channels.map((name) => channels[name]),
  }]));
  const defaults = { threshold: 1, schedule: { regular_interval: INTERVAL_SECONDS } };
  const text = JSON.stringify({ defaults, checks: { ...checks, ...others }, state });
  Deno.writeTextFileSync(`${directory}/monitor.json.new`, text, { mode: 0o600 });
  Deno.renameSync(`${directory}/monitor.json.new`, `${directory}/monitor.json`);
}

/** Changes the results of some checks from now on. */
export function turnSome(harness: Harness, random: Random): void {
  for (const { name } of CHECKS) {
    if (random.oneIn(3)) {
      show(harness, name, random.pick(["ok", "ok", "ok", "warning", "critical", "critical", "unknown"]));
    }
  }
}

/** In one step: a check that runs meanwhile sees the one or the other. */
function show({ directory }: Harness, name: string, condition: Condition): void {
  Deno.writeTextFileSync(`${directory}/${name}.new`, `${CONDITIONS.indexOf(condition)}\n`);
  Deno.renameSync(`${directory}/${name}.new`, `${directory}/${name}`);
}

/** Returns a function that returns the new results since its last call. */
export function createShownReader(harness: Harness): () => readonly Shown[] {
  let position = 0;
  return () => {
    const text = Deno.readTextFileSync(shownPath(harness));
    const lines = text.slice(position, text.lastIndexOf("\n") + 1).split("\n").slice(0, -1);
    position = text.lastIndexOf("\n") + 1;
    return lines.map((line) => {
      const [check = "", code = "", token = ""] = line.split(" ");
      return { check, condition: CONDITIONS[Number(code)] ?? "unknown", token };
    });
  };
}

function shownPath({ directory }: Harness): string {
  return `${directory}/shown`;
}
