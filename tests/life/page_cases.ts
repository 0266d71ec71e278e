import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { until } from "./in_time.ts";
import { withStage } from "./program.ts";

const test = concurrentTests("monitor check: page");

const ONCE = ["check", "--once"];

test("monitor check: the page is renewed after the first result, whatever its interval", () =>
  withStage(async (stage) => {
    stage.writeConfig({ web: { kind: "test", parameters: { condition: "ok" } } }, {
      report: { path: "page.html", interval: "1 hour" },
    });
    stage.start(["check"]);
    await until("the first result on the page", () => {
      try {
        return Deno.readTextFileSync(`${stage.directory}/page.html`).includes("The check is ok");
      } catch {
        return false;
      }
    });
  }));

test("monitor check: the page is renewed at the start, after a change, and after each call with --due", () =>
  withStage(async (stage) => {
    stage.writeScript("state", "cat state.txt; exit $(cat code.txt)");
    const set = (text: string, code: number): void => {
      Deno.writeTextFileSync(`${stage.directory}/state.txt`, text);
      Deno.writeTextFileSync(`${stage.directory}/code.txt`, String(code));
    };
    set("calm", 0);
    const checks = { web: { kind: "script", parameters: { path: "./state" } } };
    stage.writeConfig(checks, { report: { path: "page.html", interval: "1 hour" } });
    const path = `${stage.directory}/page.html`;
    const page = (): string => {
      try {
        return Deno.readTextFileSync(path);
      } catch {
        return "";
      }
    };
    assert.equal((await stage.run(ONCE)).code, 0);
    const program = stage.start(["check"]);
    await until("the kept result on the page", () => page().includes("The check is ok"));
    set("boom", 2);
    await until(
      "the change on the page",
      () => page().includes("boom") && page().includes("The check is not ok"),
    );
    stage.writeConfig(checks, { report: { path: "other.html" } });
    program.signal("SIGHUP");
    await until("the page of the config that was read again", () => {
      try {
        return Deno.readTextFileSync(`${stage.directory}/other.html`).includes("boom");
      } catch {
        return false;
      }
    });
    program.signal("SIGTERM");
    const { code, stderr } = await program.end();
    assert.equal(code, 0, stderr);

    stage.writeConfig(checks, { report: { path: "page.html" } });
    Deno.removeSync(path);
    await stage.run([...ONCE, "--due"]);
    assert.match(page(), /boom/);
    Deno.removeSync(path);
    await stage.run(ONCE);
    assert.equal(page(), "", "a call by hand renews nothing");
    assert.deepEqual([...Deno.readDirSync(stage.directory)].filter(({ name }) => name.endsWith(".tmp")), []);
  }));

test("monitor check: a page that cannot be written is said once, and nothing else ends", () =>
  withStage(async (stage) => {
    stage.writeConfig({ web: { kind: "test", parameters: { condition: "ok" } } }, {
      report: { path: "none/page.html", interval: 1 },
    });
    const words =
      `cannot write the page to "${stage.directory}/none/page.html": its directory does not exist`;
    const program = stage.start(["check"]);
    await program.stderr.next((line) => line.includes(words));
    Deno.mkdirSync(`${stage.directory}/none`);
    await program.stderr.next((line) => line.includes("writing the page succeeds again"));
    program.signal("SIGTERM");
    const { code, stderr } = await program.end();
    assert.equal(code, 0);
    assert.equal(stderr.split(words).length, 2);

    Deno.removeSync(`${stage.directory}/none`, { recursive: true });
    const due = await stage.run([...ONCE, "--due"]);
    assert.equal(due.code, 0);
    assert.equal(due.stderr, `monitor: warning: ${words}\n`);
  }));

test("monitor report: writes the page beside a running monitor, to a file or to stdout", () =>
  withStage(async (stage) => {
    stage.writeConfig({
      web: { kind: "test", parameters: { output: "rather warm" } },
      other: { kind: "test", parameters: {} },
    });
    assert.match((await stage.run(["report"])).stdout, /No data: no check/);
    const program = stage.start(["check", "--format", "ndjson"]);
    await program.stdout.event("notification");
    assert.deepEqual(await stage.run(["report", "-o", "page.html"]), {
      code: 0,
      stdout: "",
      stderr: "",
    });
    assert.match(Deno.readTextFileSync(`${stage.directory}/page.html`), /rather warm/);
    const named = await stage.run(["report", "web"]);
    assert.match(named.stdout, /^<!doctype html>[^]*<h3>web<\/h3>/);
    assert.doesNotMatch(named.stdout, /<h3>other<\/h3>/);
    program.signal("SIGTERM");
    await program.end();
    const failed = await stage.run(["report", "-o", "none/page.html"]);
    assert.equal(failed.code, 74);
    assert.match(
      failed.stderr,
      /^monitor: error: cannot write "[^"]*\/none\/page\.html": its directory does not exist\n$/,
    );
    assert.equal((await stage.run(["report", "--state", "none"])).code, 64);
    Deno.writeTextFileSync(`${stage.directory}/broken.sqlite`, "no database at all, but text of some length");
    assert.equal((await stage.run(["report", "--state", "broken.sqlite"])).code, 74);
  }));
