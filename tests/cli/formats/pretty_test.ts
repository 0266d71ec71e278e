import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import fc from "../../support/property.ts";
import stringWidth from "string-width";
import type { FormatOptions, RunSummary } from "../../../src/cli/formats/format.ts";
import { prettyFormat } from "../../../src/cli/formats/pretty.ts";
import { testRows } from "../../support/rows.ts";
import { printable } from "../../../src/shared/text.ts";
import { everyHostileRecord, HUGE_TEXTS, hugeSummary, unsafeCodes } from "./hostile_records.ts";
import { anySummary, anyText, nothingDue, optionsOf, printed, recordOf, summaryOf } from "./records.ts";

const MIXED = summaryOf([
  recordOf({
    name: "web",
    title: "Website",
    condition: "critical",
    output: 'status is 500, expected 200; header content-type is "text/plain", expected "text/html"',
  }),
  recordOf({ name: "backup", output: "age is 2 h", durationMs: 0.3 }),
  recordOf({ name: "disk", condition: "warning", output: "5 GB free", detail: "/     5 GB\n/srv\t9 GB\n" }),
  recordOf({ name: "日本語", title: "全角", output: "ok 日本", durationMs: 125_000, detail: "not shown" }),
  recordOf({
    name: "a.long.name.that.wants.more.room.example.com",
    condition: "unknown",
    output: "may not look",
  }),
], { unfinished: ["mail"], inactiveCount: 1 });

Deno.test("prettyFormat prints a table with the highest severity at the end", () => {
  assert.equal(
    printed(prettyFormat, MIXED, optionsOf({ columns: 80 })),
    Deno.readTextFileSync(new URL("testdata/pretty_80_columns.txt", import.meta.url)),
  );
});

Deno.test("prettyFormat prints outputs below the names on a narrow terminal", () => {
  const summary = summaryOf([recordOf({ name: "a.long.name.that.wants.more.room", output: "5 GB free" })]);
  assert.equal(
    printed(prettyFormat, summary, optionsOf({ columns: 40 })),
    "OK        a.long.name.that.wants.more.ro\n          om\n    12 ms  5 GB free\n\n1 check: 1 ok in 1.2 s\n",
  );
});

Deno.test("prettyFormat sums up in its last line", async (t) => {
  const ok = recordOf({});
  const seven = ["a", "b\n", "c", "d", "e", "f", "g"];
  const rows: Readonly<Record<string, RunSummary>> = {
    "ok: no check is due": nothingDue("ok"),
    "unknown: no check is active, 2 inactive": summaryOf([], { inactiveCount: 2 }),
    "1 check: 1 ok in 40 ms": summaryOf([ok], { durationMs: 40 }),
    "2 checks: 1 ok, 1 without a result (a) in 1.2 s": summaryOf([ok], { unfinished: ["a"] }),
    "7 checks: 7 without a result (a, b\\n, c, d, e, and 2 more) in 1.2 s": summaryOf([], {
      unfinished: seven,
    }),
  };
  await testRows(t, rows, (summary, line) => {
    assert.equal(printed(prettyFormat, summary).trimEnd().split("\n").at(-1), line);
  });
});

Deno.test("prettyFormat shows ten lines of detail and counts the others", () => {
  const detailLines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);
  const below = (count: number, options: FormatOptions) => {
    const detail = `${detailLines(count).join("\n")}\n\n`;
    const text = printed(prettyFormat, summaryOf([recordOf({ condition: "warning", detail })]), options);
    return text.split("\n").filter((line) => line.startsWith("    ")).map((line) => line.trim());
  };
  for (const options of [optionsOf(), optionsOf({ columns: 80 })]) {
    assert.deepEqual(below(10, options), detailLines(10));
    assert.deepEqual(below(11, options), [...detailLines(10), "… 1 more line"]);
    assert.deepEqual(below(22, options), [...detailLines(10), "… 12 more lines"]);
  }
});

Deno.test("prettyFormat marks where it truncates an output that would fill the screen", () => {
  const output = Array.from({ length: 100 }, (_, index) => `word${index}`).join(" ");
  const text = printed(prettyFormat, summaryOf([recordOf({ output })]), optionsOf({ columns: 50 }));
  assert.match(text, /… \d+ more lines\n\n1 check/);
  assert.equal(text.split("\n").length, 14);
  assert.ok(printed(prettyFormat, summaryOf([recordOf({ output })])).includes(output));
});

Deno.test("prettyFormat colors words, not the layout", () => {
  for (const columns of [null, 200, 80, 40]) {
    const plain = printed(prettyFormat, MIXED, optionsOf({ columns }));
    const colored = printed(prettyFormat, MIXED, optionsOf({ columns, color: true }));
    assert.equal(stripVTControlCharacters(colored), plain);
    assert.ok(colored.includes("\u001b[32mOK\u001b[39m"));
    assert.ok(colored.includes("\u001b[1m\u001b[31mCRITICAL\u001b[39m\u001b[22m"));
  }
});

Deno.test("prettyFormat keeps hostile texts from controlling the terminal or exceeding its width", async (t) => {
  for (const columns of [null, 200, 80, 40, 20, 1, 0]) {
    await t.step(`${columns} columns`, () => {
      assertTidy(everyHostileRecord(), optionsOf({ columns }));
    });
  }
});

Deno.test("prettyFormat keeps huge texts short on a terminal and whole elsewhere", async (t) => {
  for (const [name, text] of HUGE_TEXTS) {
    await t.step(name, () => {
      assert.ok(assertTidy(hugeSummary(text), optionsOf({ columns: 80 })).split("\n").length < 30);
      assert.ok(printed(prettyFormat, hugeSummary(text)).includes(printable(text).trim()));
    });
  }
});

Deno.test("prettyFormat keeps any text from controlling the terminal or exceeding its width", () => {
  const columns = fc.option(fc.integer({ min: 0, max: 250 }), { nil: null });
  fc.assert(fc.property(anySummary(), columns, (summary, columns) => {
    assertTidy(summary, optionsOf({ columns }));
  }));
});

Deno.test("prettyFormat marks every omitted text on a terminal", () => {
  fc.assert(fc.property(anyText(), fc.integer({ min: 20, max: 120 }), (output, columns) => {
    const text = printed(
      prettyFormat,
      summaryOf([recordOf({ name: "n", output, durationMs: 1 })]),
      optionsOf({ columns }),
    );
    const shown = text.slice(0, text.lastIndexOf("1 check:"));
    if (/… \d+ more lines?\n\n$/.test(shown)) return;
    assert.equal(shown.replace(/\s/gu, ""), `OKn1ms${printable(output).replace(/\s/gu, "")}`);
  }));
});

/** Asserts safe characters only, no line too wide, and off a terminal every output whole. Returns the output. */
function assertTidy(summary: RunSummary, options: FormatOptions): string {
  const text = printed(prettyFormat, summary, options);
  assert.deepEqual(unsafeCodes(text), []);
  assert.ok(text.endsWith("\n") && !text.includes("\t"));
  if (options.columns === null) {
    for (const { result } of summary.records) assert.ok(text.includes(printable(result.output).trim()));
    return text;
  }
  for (const line of text.split("\n")) {
    // Terminals give vowels and last letters of Hangul no column, the package does if no first letter is before them.
    const width = stringWidth(line.replaceAll(/[\u1160-\u11ff\ud7b0-\ud7fb]/g, ""));
    assert.ok(width <= Math.max(options.columns, 20), `${JSON.stringify(line)} is too wide`);
    assert.equal(line, line.trimEnd());
  }
  return text;
}
