import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";
import { withTarget } from "./target.ts";

const test = concurrentTests("monitor check: reload");

const OK = { kind: "test", parameters: { condition: "ok" } };
const CRITICAL = { kind: "test", parameters: { condition: "critical" } };

test("monitor check: SIGHUP adopts a valid config, and unchanged checks keep their counts", () =>
  withTarget((target) =>
    withHarness(async (harness) => {
      const web = { kind: "http_request", threshold: 1000, parameters: target.parameters };
      target.status = 500;
      harness.writeConfig({ web, gone: OK, turned: OK });
      const program = harness.start(["check", "--format", "ndjson"]);
      await program.stdout.event("result", ({ name }) => name === "gone");
      const before = await program.stdout.event(
        "result",
        ({ name, occurrences }) => name === "web" && Number(occurrences) >= 2,
      );
      const plannedMs = Date.parse(String(before["started_at"])) - Number(before["late_ms"]);

      harness.writeConfig({ web, turned: CRITICAL, added: OK, off: { ...OK, active: false } });
      program.signal("SIGHUP");
      const reload = await program.stdout.event("reload");
      assert.deepEqual({ ...reload, at: "" }, {
        event: "reload",
        at: "",
        adopted: true,
        config: "./monitor.json",
        checks: 3,
        inactive: 1,
        added: ["added"],
        changed: ["turned"],
        removed: ["gone"],
      });
      await program.stderr.next("config reloaded: 3 checks, 1 added, 1 changed, 1 removed");

      const seen = new Set<unknown>();
      while (!["web", "turned", "added"].every((name) => seen.has(name))) {
        const { name, occurrences, condition, ...result } = await program.stdout.event("result");
        seen.add(name);
        assert.notEqual(name, "gone");
        if (name === "turned") assert.equal(condition, "critical");
        if (name !== "web") continue;
        assert.ok(Number(occurrences) > Number(before["occurrences"]), `counted ${occurrences}`);
        const nextMs = Date.parse(String(result["started_at"])) - Number(result["late_ms"]);
        const shiftMs = (nextMs - plannedMs) % 1000;
        assert.ok(Math.min(shiftMs, 1000 - shiftMs) <= 50, `the phase moved by ${shiftMs} ms`);
      }
    })
  ));

test("monitor check: SIGHUP with an invalid config logs every error, and the old one stays active", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ fine: OK });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result");
    Deno.writeTextFileSync(
      `${harness.directory}/monitor.json`,
      '{\n  "defaults": { "threshold": 0 },\n  "checks": { "fine": { "kind": "tset", "parameters": {} } }\n}\n',
    );
    program.signal("SIGHUP");
    await program.stderr.next(/ error: .\/monitor\.json:2:30: defaults\.threshold: is 0/);
    await program.stderr.next(/ error: .\/monitor\.json:3:33: checks\.fine\.kind: is "tset"/);
    await program.stderr.next(
      / error: config not reloaded, the old one stays active: cannot use/,
    );
    const { adopted, error } = await program.stdout.event("reload");
    assert.equal(adopted, false);
    assert.equal(error, 'cannot use config "./monitor.json": 2 errors');
    await program.stdout.event("result", ({ name }) => name === "fine");

    // The config is fixed, and then it is missing.
    harness.writeConfig({ fine: OK, added: OK });
    program.signal("SIGHUP");
    assert.equal((await program.stdout.event("reload"))["adopted"], true);
    await program.stdout.event("result", ({ name }) => name === "added");
    Deno.removeSync(`${harness.directory}/monitor.json`);
    program.signal("SIGHUP");
    const last = await program.stdout.event("reload");
    assert.match(String(last["error"]), /^cannot find a config/);
    await program.stdout.event("result", ({ name }) => name === "added");
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

test("monitor check: SIGHUP reads what is included again, and what has come to a pattern", () =>
  withHarness(async (harness) => {
    const write = (name: string, config: unknown): void =>
      Deno.writeTextFileSync(`${harness.directory}/conf.d/${name}`, JSON.stringify(config));
    Deno.mkdirSync(`${harness.directory}/conf.d`);
    write("a.json", { checks: { a: OK } });
    harness.writeConfig({ own: OK }, { include: "conf.d/*.json" });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result", ({ name }) => name === "a");

    write("a.json", { checks: { a: CRITICAL } });
    write("b.json", { checks: { b: OK } });
    program.signal("SIGHUP");
    const { adopted, added, changed, removed } = await program.stdout.event("reload");
    assert.deepEqual({ adopted, added, changed, removed }, {
      adopted: true,
      added: ["b"],
      changed: ["a"],
      removed: [],
    });
    await program.stdout.event("result", ({ name }) => name === "b");

    write("b.json", { checks: { a: OK } });
    program.signal("SIGHUP");
    await program.stderr.next(
      / error: .\/conf\.d\/b\.json:1:12: checks\.a: the name "a" is already defined in .\/conf\.d\/a\.json:1:12/,
    );
    assert.equal((await program.stdout.event("reload"))["adopted"], false);
    await program.stdout.event("result", ({ name }) => name === "b");
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

test("monitor check: SIGHUP while it starts and in quick succession ends nothing", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ fine: OK });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("start");
    for (let count = 0; count < 20; count++) program.signal("SIGHUP");
    await program.stdout.event("reload");
    await program.stdout.event("result");
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

test("monitor check: SIGHUP cannot read a config from stdin again, and says so", () =>
  withHarness(async (harness) => {
    const stdin = JSON.stringify({
      defaults: { schedule: { regular_interval: 1 } },
      checks: { fine: OK },
    });
    const program = harness.start(["check", "--config", "-", "--format", "ndjson"], { stdin });
    const start = await program.stdout.event("start");
    assert.equal(start["state"], null);
    await program.stdout.event("result");
    program.signal("SIGHUP");
    await program.stderr.next("the config is read from stdin and cannot be reloaded");
    await program.stdout.event("result");
  }));

test("monitor check: a reload says that another state waits for a restart, and that another config was found", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ fine: OK });
    const program = harness.start(["check"]);
    await program.stdout.next("started: 1 check from ./monitor.json, state in ");
    harness.writeConfig({ fine: OK }, { state: "other.sqlite" });
    program.signal("SIGHUP");
    await program.stderr.next(
      `the state path is now "${harness.directory}/other.sqlite"; restart to use it`,
    );
    Deno.renameSync(`${harness.directory}/monitor.json`, `${harness.directory}/monitor.jsonc`);
    program.signal("SIGHUP");
    await program.stderr.next(
      'another config, "./monitor.jsonc", is found now instead of "./monitor.json"',
    );
  }));
