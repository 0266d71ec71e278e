/** `monitor demo`: a live page of invented checks, without a config, a state or other connections. */
import assert from "node:assert/strict";
import { type Machine, type Program, simulate, World } from "../../testing/simulation/mod.ts";
import { MINUTE_MS, SECOND_MS } from "../../src/shared/time_units.ts";
import { fileURLToPath } from "node:url";
import { runChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

interface Shown {
  readonly name: string;
  readonly condition: string;
  readonly maintenance: unknown;
  readonly acknowledged: unknown;
}

async function checksOf(machine: Machine): Promise<readonly Shown[]> {
  const response = await machine.request("/api/v1/status");
  return JSON.parse(response?.body ?? "").checks;
}

async function inWorld(use: (world: World) => Promise<void>, seed = 1): Promise<void> {
  const world = await World.create({ seed, start: "2026-03-02T10:00Z" });
  try {
    await use(world);
  } finally {
    world.end();
  }
}

async function startDemo(world: World, ...args: readonly string[]): Promise<Program> {
  const program = world.machine("a").start("demo", ...args);
  await world.until(() => program.hasEnded || program.stdout.text().includes("listening on"), "the page");
  return program;
}

Deno.test("monitor demo shows changing checks with a history, and opens only its socket", () =>
  inWorld(async (world) => {
    const steps = new Set<string>();
    world.killsAt = (_program, what) => {
      steps.add(what);
      return false;
    };
    const machine = world.machine("a");
    const program = await startDemo(world);
    await world.advance(MINUTE_MS);
    const checks = await checksOf(machine);
    assert.equal(checks.length, 40);
    const conditions = checks.map(({ condition }) => condition);
    assert.deepEqual([...new Set(conditions)].sort(), ["critical", "ok", "pending", "warning"]);
    assert.ok(checks.some(({ acknowledged }) => acknowledged !== null));
    assert.ok(checks.some(({ maintenance }) => maintenance !== null));

    const page = await machine.request("/");
    assert.match(page?.body ?? "", /every result is invented/);
    assert.match(page?.body ?? "", /Maintenance|maintenance/);
    const verdicts = {
      "shop.web": /99.9% in 30 d (?:met|missed)/,
      "mail.name": /: can.{1,6}t tell with this/,
    };
    for (const [name, verdict] of Object.entries(verdicts)) {
      assert.match((await machine.request(`/checks/${name}`))?.body ?? "", verdict);
    }
    const history = await machine.request("/api/v1/history/redis");
    assert.ok(JSON.parse(history?.body ?? "").changes.length >= 3);

    const seen = new Set([conditions.join()]);
    const notified = / is (?:critical|down): .*\n(?:.*\n)*.* again after /;
    for (let minute = 0; minute < 5 && (seen.size < 3 || !notified.test(program.stdout.text())); minute++) {
      await world.advance(MINUTE_MS);
      seen.add((await checksOf(machine)).map(({ condition }) => condition).join());
    }
    assert.ok(seen.size >= 3, `only ${seen.size} different conditions in 5 minutes`);
    assert.match(program.stdout.text(), notified);

    const second = await startDemo(world);
    assert.equal(second.code, 74);
    assert.match(second.stderr.text(), /9797": .* in use; choose another address with --listen\n$/);
    const { code, stderr } = await machine.run("demo", "--listen", "0.0.0.0:9797");
    assert.equal(code, 64);
    assert.match(stderr, /--listen is "0\.0\.0\.0:9797", expected a loopback address/);

    program.signal("SIGINT");
    await world.until(() => program.hasEnded, "the end");
    assert.equal(program.code, 0);
    assert.deepEqual([...steps].sort(), ["after listen on 9797", "before listen on 9797", "before output"]);
    assert.equal(await machine.request("/"), null);
  }));

// `monitor status --watch` on a terminal.

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

Deno.test("examples/team: check_queue.sh exits by the number of files", async () => {
  const script = fileURLToPath(new URL("../../examples/team/check_queue.sh", import.meta.url));
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const assertExit = async (count: number, code: number, path: string): Promise<void> => {
    const end = await runChild(tool("sh"), [script, directory], { env: { PATH: path } });
    assert.deepEqual([end.code, end.stderr], [code, ""]);
    assert.equal(end.stdout, `${count} orders are waiting | waiting=${count};1000;10000\n`);
  };
  const path = "/usr/bin:/bin";
  await assertExit(0, 0, path);
  for (const name of ["1", "2", "3"]) Deno.writeTextFileSync(`${directory}/${name}`, "");
  Deno.mkdirSync(`${directory}/bin`);
  await assertExit(3, 0, path);
  // Prints a fixed number of files: the directory is not made.
  for (const [count, code] of [[999, 0], [1000, 1], [9999, 1], [10_000, 2]] as const) {
    Deno.writeTextFileSync(`${directory}/bin/find`, `#!/bin/sh\nseq ${count}\n`, { mode: 0o755 });
    await assertExit(count, code, `${directory}/bin:${path}`);
  }
});
