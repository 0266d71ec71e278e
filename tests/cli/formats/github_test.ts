import assert from "node:assert/strict";
import { githubFormat } from "../../../src/cli/formats/github.ts";
import { failsOnCritical, nothingDue, optionsOf, printed, recordOf, summaryOf } from "./records.ts";

Deno.test("githubFormat annotates checks without a result, and a run of nothing that fails", () => {
  const interrupted = summaryOf([recordOf({ name: "fine" })], { unfinished: ["web"] });
  assert.equal(printed(githubFormat, interrupted), "::error title=monitor::web: no result (interrupted)\n");
  assert.equal(printed(githubFormat, summaryOf([])), "::error title=monitor::no check is active\n");
  assert.equal(printed(githubFormat, nothingDue("ok")), "");
});

Deno.test("githubFormat makes a failure that passes the run a warning", () => {
  const summary = summaryOf([recordOf({ name: "web", condition: "warning", output: "slow" })]);
  const locate = () => ({ file: "a.json", line: 3, column: 7 });
  assert.equal(
    printed(githubFormat, summary, optionsOf({ fails: failsOnCritical, locate })),
    "::warning file=a.json,line=3,col=7,title=monitor::web: warning: slow\n",
  );
});
