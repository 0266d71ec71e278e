import fc from "../../support/property.ts";
import { type Condition, CONDITIONS } from "../../../src/domain/condition.ts";
import type { FormatOptions, RunRecord, RunSummary } from "../../../src/cli/formats/format.ts";
import { shortOrFull } from "../../../testing/full_form.ts";
import { anySummary, failsOnCritical, optionsOf, recordOf, summaryOf } from "./records.ts";

const HUGE = shortOrFull(16, 1024) * 1024;

/** Texts that try to break out of a format, each named for its attempt. */
export const HOSTILE_TEXTS: readonly (readonly [name: string, text: string])[] = [
  ["an empty text", ""],
  ["spaces alone", "   "],
  ["line breaks of every sort", "a\nb\r\nc\rd\u0085e\u2028f\u2029g\vh\fi"],
  ["every control character", Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("")],
  ["a sequence that clears the screen", "\u001b[2J\u001b[1;1Hall is well"],
  ["an eight-bit sequence", "\u009b2J\u009d0;title\u009c"],
  [
    "a window title and a link",
    "\u001b]0;owned\u0007\u001b]8;;http://example.com\u001b\\click\u001b]8;;\u001b\\",
  ],
  ["colors", "\u001b[1;31mred\u001b[0m and \u001b[38;5;200mpink"],
  ["a sequence hidden in another", "\u001b\u001b[0m[2J\u001b[\u001b[0m31"],
  ["bidi overrides and isolates", "user\u202etxt.exe\u202c \u2066a\u2069 \u200e\u200f\u061c"],
  ["invisible characters", "a\u200bb\u2060c\ufeffd\u00ade\u180ef\u{e0041}\u{e0001}"],
  ["lone surrogates", "high \ud83d low \ude00 swapped \ude00\ud83d"],
  ["what is no character", "\ufffe \uffff \ufdd0 \u{1fffe} \u{10ffff} \u0000"],
  ["the end of a CDATA section", "]]><![CDATA[ ]]>"],
  ["markup", "<script>&amp;&#x1b;&nbsp;</failure></testcase><!-- -- --><?xml?> \" ' >"],
  ["quotes and backslashes", "\" ' '' \"\" ` \\ \\\\ \\n \\u0000 %s ${x}"],
  ["pipes and performance data", "ok | 'x'=1;2;3;4;5 | a=b 'c=d'=1 'it''s'=2 ' unclosed=1"],
  ["labels without an end", "'' '' '''''''''' '''=1 =1 =="],
  [
    "TAP directives and lines",
    "x # SKIP y # TODO z \\# \\\\#\n1..9\nok 2\nnot ok 3\nBail out!\n  ...\n  ---\nTAP version 13",
  ],
  ["a directive behind a backslash", "x \\# SKIP"],
  ["the start of a TAP subtest", "a {"],
  ["the look of YAML", "- a: [b, {c: d}] # e\n--- !!js/function x\n&anchor *anchor | > %tag @ `\n..."],
  ["the look of JSON", '"}],"condition":"ok","x":[{"'],
  ["names of an object's own members", "__proto__"],
  ["wide and composed characters", "日本語 한국어 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 🇩🇪 ｆｕｌｌ क्षि ไทย"],
  ["many marks on one letter", `Z${"\u0335\u0321\u0300".repeat(100)}algo`],
];

/** Texts of 64 KB, or a megabyte: too long for tests that print each in many ways. */
export const HUGE_TEXTS: readonly (readonly [name: string, text: string])[] = [
  ["a huge text of one word", "x".repeat(HUGE)],
  ["a huge text of wide characters", "日".repeat(HUGE)],
  ["a huge text of escape characters", "\u001b".repeat(HUGE)],
  ["a huge text of quoted quotes", "'' ".repeat(HUGE / 3)],
  ["a huge text of equal labels", "a=1 ".repeat(HUGE / 4)],
];

/** A record that has the text everywhere a config or a target may put one. */
export function hostileRecord(text: string, condition: Condition): RunRecord {
  return recordOf({
    name: text,
    title: text,
    kind: "script",
    condition,
    output: text,
    detail: text,
    performanceData: text,
    metrics: { [text]: 1, "not a number": NaN, infinite: -Infinity, tiny: 1e-7, vast: 1e300 },
  });
}

/** The whole hostile set in one run. */
export function everyHostileRecord(): RunSummary {
  return summaryOf(
    HOSTILE_TEXTS.flatMap(([, text]) => CONDITIONS.map((condition) => hostileRecord(text, condition))),
    { unfinished: HOSTILE_TEXTS.map(([, text]) => text) },
  );
}

/** A run whose one check, which fails, has a huge output, detail and performance data. */
export function hugeSummary(text: string): RunSummary {
  return summaryOf([
    recordOf({ name: "huge", condition: "critical", output: text, detail: text, performanceData: text }),
    recordOf({ name: "next" }),
  ]);
}

/** Tests that a format withstands every hostile text, huge ones, and any. */
export function testTexts(
  name: string,
  assertSafe: (summary: RunSummary, options: FormatOptions) => void,
): void {
  const ways = [optionsOf(), optionsOf({ fails: failsOnCritical })] as const;
  Deno.test(`${name} withstands every hostile text`, () => {
    for (const options of ways) assertSafe(everyHostileRecord(), options);
  });
  Deno.test(`${name} withstands huge texts`, async (t) => {
    for (const [text, huge] of HUGE_TEXTS) await t.step(text, () => assertSafe(hugeSummary(huge), ways[0]));
  });
  Deno.test(`${name} withstands any text`, () => {
    fc.assert(fc.property(anySummary(), fc.constantFrom(...ways), assertSafe));
  });
}

/**
 * The code points of a text that could act on a terminal or on a reader of lines, as hexadecimal numbers; line
 * feed and tab are harmless. Written apart from the product's own list, so that one checks the other.
 */
export function unsafeCodes(text: string): readonly string[] {
  const codes = new Set<number>();
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const isControl = (code < 0x20 && code !== 0x0a && code !== 0x09) || (code >= 0x7f && code <= 0x9f);
    const isBidi = code === 0x061c || code === 0x200e || code === 0x200f ||
      (code >= 0x202a && code <= 0x202e) ||
      (code >= 0x2066 && code <= 0x2069);
    const isLineBreak = code === 0x2028 || code === 0x2029;
    const isHidden = [0xad, 0x180e, 0x200b, 0x2060, 0xfeff].includes(code) ||
      (code >= 0xe0000 && code <= 0xe007f);
    const isLoneSurrogate = code >= 0xd800 && code <= 0xdfff;
    if (isControl || isBidi || isLineBreak || isHidden || isLoneSurrogate) codes.add(code);
  }
  return [...codes].map((code) => code.toString(16));
}
