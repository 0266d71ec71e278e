/** `monitor status --watch` on a terminal. */
import assert from "node:assert/strict";
import { type Program, simulate, type World } from "../../testing/simulation/mod.ts";
import { SECOND_MS } from "../../src/shared/time_units.ts";

let program: Program;
const shown: string[] = [];

/** Returns the visible text: the text after the last cursor reset, without control sequences. */
function screenOf({ stdout }: Program): string {
  // deno-lint-ignore no-control-regex
  return stdout.text().split("\u001b[H").at(-1)?.replaceAll(/\u001b\[[?\d]*\w/g, "") ?? "";
}

simulate("monitor status --watch shows new conditions, continues after errors, and leaves the last status", {
  start: "2026-03-02 21:55",
  config: { checks: { web: { tags: ["site"] }, db: { tags: ["site"] } } },
  results: { web: "22:00 critical (no space)" },
  actions: {
    "21:59": (world) => {
      program = world.machine().startWith({
        args: ["status", "--watch", "--interval", "10s", "--tag", "site"],
        typed: [],
      });
    },
    "21:59:30": () => void shown.push(screenOf(program)),
    "22:00:30": async (world) => {
      shown.push(screenOf(program));
      await inConfig(world, "{", () => shown.push(screenOf(program)));
    },
    "22:02": () => void shown.push(screenOf(program)),
    "22:03": () => program.signal("SIGINT"),
  },
  until: "22:04",
  expect: { chat: ["22:00 problem web critical"] },
  finally: () => {
    const [ok = "", failed = "", broken = "", fixed = ""] = shown;
    assert.match(ok, /^OK +web .*\nOK +db .*\n\n2 checks: 2 ok/m);
    assert.match(ok, /\n\n2026-03-02 21:59:\d\d UTC, every 10 s, end with Ctrl-C$/);
    assert.match(failed, /^OK +db .*\nCRITICAL +web .*no space\n\n2 checks: 1 ok, 1 critical/m);
    assert.match(broken, /^monitor: error: cannot use config/m);
    assert.match(fixed, /^CRITICAL +web /m);
    assert.equal(program.code, 0);
    const left = program.stdout.text().split("\u001b[?1049l").at(-1) ?? "";
    assert.match(left, /CRITICAL.* +web .*\n\n2 checks: .*\n$/);
    assert.doesNotMatch(left, /Ctrl-C/);
  },
});

/** Runs an action after the config had another text for a while. */
async function inConfig(world: World, text: string, work: () => void): Promise<void> {
  const { files } = world.machine();
  const path = "/etc/monitor/monitor.jsonc";
  const before = new TextDecoder().decode(files.read(path));
  files.put(path, text);
  await world.advance(15 * SECOND_MS);
  work();
  files.put(path, before);
}

Deno.test("monitor status --watch requires a terminal", async () => {
  const { World } = await import("../../testing/simulation/mod.ts");
  const world = await World.create({ seed: 1, start: "2026-03-02T10:00Z" });
  const refusal = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await world.machine().run("status", ...args);
    assert.equal(code, 64);
    return stderr.replaceAll(/monitor: (?:error|hint): /g, "").trim().replaceAll("\n", "; ");
  };
  assert.equal(
    await refusal("--watch", "-c", "x.jsonc"),
    "--watch requires a terminal; print the status once with: monitor status -c x.jsonc",
  );
  assert.equal(await refusal("--interval", "3s"), "--interval requires --watch");
  assert.equal(await refusal("--watch", "--format", "json"), "--watch cannot be used with --format json");
  world.end();
});
