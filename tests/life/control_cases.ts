/** The control socket of the real program. */
import assert from "node:assert/strict";
import { requiresTools } from "../../testing/tools.ts";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { type Harness, type Program, withHarness } from "./program.ts";

const test = provided(withHarness, concurrentTests("monitor check: control socket"));
const testInAll = provided(
  withHarness,
  concurrentTests("monitor check: control socket: more", requiresTools("time")),
);

const SLOW = { defaults: { threshold: 2, schedule: { regular_interval: "1 hour" } } };
const OK = { kind: "test", parameters: { condition: "ok" } };

/** Starts a service, and waits until its socket is there. */
async function start(
  harness: Harness,
  environment = {},
  how: "start" | "startHere" = "startHere",
): Promise<Program> {
  const program = harness[how](["check", "--format", "ndjson", "--log-level", "debug"], { environment });
  await program.stderr.next(/debug: control socket at/);
  return program;
}

function socketIn(directory: string): string | null {
  try {
    return [...Deno.readDirSync(directory)].find(({ name }) => name.endsWith(".sock"))?.name ?? null;
  } catch {
    return null;
  }
}

async function stop(program: Program): Promise<void> {
  program.signal("SIGTERM");
  assert.equal((await program.end()).code, 0);
}

test("a command for another config on the same state names the one that runs", async (harness) => {
  const state = { state: "state.sqlite" };
  harness.writeConfig({ a: OK }, state);
  const program = await start(harness);
  Deno.writeTextFileSync(
    `${harness.directory}/other.json`,
    Deno.readTextFileSync(`${harness.directory}/monitor.json`).replace('"a"', '"b"'),
  );
  for (const args of [["reload"], ["run", "a"]]) {
    const { code, stderr } = await harness.runHere([...args, "--config", "other.json"]);
    assert.equal(code, 64);
    assert.match(stderr, /uses another config, ".*\/monitor\.json" instead of ".*\/other\.json"\n/);
    assert.match(stderr, /hint: add -c .*\/monitor\.json; to use the other config, restart that monitor/);
  }
  Deno.symlinkSync("monitor.json", `${harness.directory}/link.json`);
  assert.equal((await harness.runHere(["reload", "--config", "link.json"])).code, 0);
  await stop(program);
});

test("monitor run runs checks now, and their results count", async (harness) => {
  harness.writeScript("state", "cat state.txt; exit $(cat code.txt)");
  const set = (text: string, code: number): void => {
    Deno.writeTextFileSync(`${harness.directory}/state.txt`, text);
    Deno.writeTextFileSync(`${harness.directory}/code.txt`, String(code));
  };
  set("fine", 0);
  harness.writeConfig({ web: { kind: "script", parameters: { path: "./state" } }, other: OK }, SLOW);
  const program = await start(harness);
  assert.deepEqual(await harness.runHere(["run", "web"]), {
    code: 0,
    stdout: "OK web: fine\n",
    stderr: "",
  });
  set("out of order", 2);
  assert.deepEqual(await harness.runHere(["run", "web"]), {
    code: 2,
    stdout: "CRITICAL web: out of order (confirmed: ok)\n",
    stderr: "",
  });
  const { code, stdout } = await harness.runHere(["run", "web", "other", "--format", "json"]);
  assert.equal(code, 2);
  const { checks } = JSON.parse(stdout) as { checks: readonly Readonly<Record<string, unknown>>[] };
  assert.deepEqual(checks.map(({ name, confirmed }) => [name, confirmed]), [
    ["web", "critical"],
    ["other", "ok"],
  ]);
  await program.stdout.event("notification");
  const unknown = await harness.runHere(["run", "web", "nothing"]);
  assert.equal(unknown.code, 64);
  assert.match(unknown.stderr, /the running monitor has no such check: "nothing"/);
  assert.equal((await harness.runHere(["run"])).code, 64);
  await stop(program);
});

test("the socket is in the runtime directory, for the same user only", async (harness) => {
  harness.writeConfig({ a: OK }, { state: "state.sqlite" });
  const runtime = `${harness.directory}/runtime`;
  Deno.mkdirSync(runtime, { mode: 0o755 });
  for (
    const [variable, directory, how] of [
      ["XDG_RUNTIME_DIR", "monitor", "startHere"],
      ["RUNTIME_DIRECTORY", "control", "start"],
    ] as const
  ) {
    const program = await start(harness, { [variable]: runtime }, how);
    const socket = `${runtime}/${directory}/${socketIn(`${runtime}/${directory}`)}`;
    assert.equal((Deno.statSync(socket).mode ?? 0) & 0o777, 0o600);
    assert.equal((Deno.statSync(`${runtime}/${directory}`).mode ?? 0) & 0o777, 0o700);
    // The user of the command requires no such variable.
    assert.equal((await harness.runHere(["run", "a"])).code, 0);
    if (how === "startHere") await stop(program);
    else {
      program.signal("SIGKILL");
      await program.end();
    }
  }
  const dead = await harness.runHere(["reload"]);
  assert.equal(dead.code, 74);
  assert.match(dead.stderr, /no monitor runs on this state/);
  const again = await start(harness, { RUNTIME_DIRECTORY: runtime });
  assert.equal((await harness.runHere(["reload"])).code, 0, "what was left behind is replaced");
  await stop(again);
});

testInAll("without a private directory there is no socket, and checks run", async (harness) => {
  Deno.chmodSync(harness.directory, 0o755);
  harness.writeConfig({ a: OK }, { state: "state.sqlite" });
  const program = harness.start(["check", "--format", "ndjson"]);
  await program.stderr.next(
    /WARNING.* no control socket, so monitor run .*\.sock": other users may enter/i,
  );
  await program.stdout.event("result");
  const { code, stderr } = await harness.runHere(["reload"]);
  assert.equal(code, 74);
  assert.match(stderr, /the running monitor has no control socket; reload it with SIGHUP/);
  const run = await harness.runHere(["run", "a"]);
  assert.equal(run.code, 74);
  assert.match(
    run.stderr,
    /has no control socket; make the directory of its state private and restart it/,
  );
  await stop(program);
});

testInAll("a request to a frozen service ends, and is not carried out when it goes on", async (harness) => {
  harness.writeConfig({ a: OK }, { state: "state.sqlite" });
  const program = await start(harness, {}, "start");
  program.signal("SIGSTOP");
  const { code, stderr } = await harness.run(["reload"]);
  assert.equal(code, 74);
  assert.match(
    stderr,
    new RegExp(`monitor \\(process ${program.pid}\\) hangs: no response for 10 s; restart`),
  );
  program.signal("SIGCONT");
  // The next request is answered after it.
  assert.equal((await harness.runHere(["reload"])).code, 0);
  await stop(program);
  const reloads = program.stderr.text().match(/config reloaded/g) ?? [];
  assert.equal(reloads.length, 1);
});
