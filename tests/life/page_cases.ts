import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "./program.ts";

const test = concurrentTests("monitor check: page");

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
    }, { report: { path: "page.html", public: ["website"] }, page: { title: "Status of example.org" } });
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
