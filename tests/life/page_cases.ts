import assert from "node:assert/strict";
import { requiresTools } from "../../testing/tools.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("monitor check: page");
const testInAll = concurrentTests("monitor check: page: more", requiresTools("time"));

const ONCE = ["check", "--once"];

test("monitor report: a public page shows only checks with its tags, without outputs, also over that of the config", () =>
  withHarness(async (harness) => {
    const check = (output: string, tags: readonly string[]): unknown => ({
      kind: "test",
      tags,
      title: `Title of ${tags.join()}`,
      parameters: { condition: "critical", output },
    });
    harness.writeConfig({
      web: check("output of web", ["website"]),
      inner: check("output of inner", ["inner"]),
    }, {
      report: { path: "page.html", public: ["website"] },
      page: { title: "Status of example.org" },
    });
    const path = `${harness.directory}/page.html`;
    const isPublic = (html: string): void => {
      assert.match(html, /Status of example\.org/);
      assert.match(html, /Title of website/);
      assert.doesNotMatch(html, /output of|Title of inner|monitor\.json/);
    };
    await harness.runHere([...ONCE, "--due"]);
    isPublic(Deno.readTextFileSync(path));
    assert.equal((await harness.runHere(["report", "-o", "page.html"])).code, 0);
    isPublic(Deno.readTextFileSync(path));
    isPublic((await harness.runHere(["report", "--public", "website"])).stdout);
    const whole = await harness.runHere(["report"]);
    assert.match(whole.stdout, /output of inner/);
    const unknown = await harness.runHere(["report", "--public", "websit"]);
    assert.equal(unknown.code, 64);
    assert.match(unknown.stderr, /no check has the tag "websit"/);
  }));

testInAll(
  "monitor report: writes the page alongside a running monitor, to a file or to stdout",
  () =>
    withHarness(async (harness) => {
      harness.writeConfig({
        web: { kind: "test", parameters: { output: "rather warm" } },
        other: { kind: "test", parameters: {} },
      });
      assert.match((await harness.runHere(["report"])).stdout, /No data: no check/);
      const program = harness.startHere(["check", "--format", "ndjson"]);
      await program.stdout.event("notification");
      assert.deepEqual(await harness.runHere(["report", "-o", "page.html"]), {
        code: 0,
        stdout: "",
        stderr: "",
      });
      assert.match(Deno.readTextFileSync(`${harness.directory}/page.html`), /rather warm/);
      const named = await harness.runHere(["report", "web"]);
      assert.match(named.stdout, /^<!doctype html>[^]*<h3>web<\/h3>/);
      assert.doesNotMatch(named.stdout, /<h3>other<\/h3>/);
      program.signal("SIGTERM");
      await program.end();
      const failed = await harness.runHere(["report", "-o", "none/page.html"]);
      assert.equal(failed.code, 74);
      assert.match(
        failed.stderr,
        /^monitor: error: cannot write "[^"]*\/none\/page\.html": its directory does not exist\n$/,
      );
      assert.equal((await harness.runHere(["report", "--state", "none"])).code, 64);
      Deno.writeTextFileSync(
        `${harness.directory}/broken.sqlite`,
        "no database at all, but text of some length",
      );
      assert.equal((await harness.runHere(["report", "--state", "broken.sqlite"])).code, 74);
    }),
);
