import { megabytesText, millisecondsText } from "./measure.ts";
import type { Row } from "./row.ts";
import { compareRuns, measureRuns, type RunCost, type RunSubject } from "./run_rows.ts";
import type { Workplace } from "./workplace.ts";

const ROUNDS = 3;
const PEAK_ROUNDS = 1;
const SIZES = [1_000, 10_000, 100_000];
/** The two sizes whose cost for a check is compared; in smaller ones the engine is still warming up. */
const COMPARED = { small: 10_000, large: 100_000 };

/**
 * What `validate` takes for documents of some sizes, to a bare `JSON.parse` of the largest; what a check costs is to
 * stay the same however many there are.
 */
export async function benchValidate({ programs, folder, effort }: Workplace): Promise<readonly Row[]> {
  const { commands } = programs.best;
  const subjects: Record<string, RunSubject> = {};
  for (const size of [1, ...SIZES]) {
    const path = `${folder}/validate_${size}.json`;
    await Deno.writeTextFile(path, makeDocument(size));
    const judge = requireChecks(size);
    subjects[`validate ${size}`] = { command: [...commands.monitor, "validate", "--config", path], judge };
    if (size === COMPARED.large) subjects["parse"] = { command: [...commands.bare, "parse", path], judge };
  }
  const rounds = { rounds: effort.rounds(ROUNDS), peakRounds: effort.rounds(PEAK_ROUNDS) };
  const costs = await measureRuns(subjects, rounds);
  const costOf = (name: string): RunCost => costs[name] ?? { wallMs: NaN, cpuMs: NaN, peakBytes: null };
  const start = costOf("validate 1");
  const eachUs = (size: number): number => (costOf(`validate ${size}`).cpuMs - start.cpuMs) * 1000 / size;
  return [
    ...SIZES.map((size) => describeSize(size, { cost: costOf(`validate ${size}`), eachUs: eachUs(size) })),
    compareCosts(eachUs),
    ...compareRuns(
      `validation of ${COMPARED.large.toLocaleString("en")} checks`,
      costOf(`validate ${COMPARED.large}`),
      {
        name: "a bare JSON.parse",
        cost: costOf("parse"),
      },
    ),
  ];
}

function requireChecks(size: number): NonNullable<RunSubject["judge"]> {
  const words = new RegExp(`\\b${size} checks?\\b`);
  return (output) => {
    if (!words.test(output)) throw new Error(`Cannot measure: it says "${output}", expected ${size} checks`);
    return Promise.resolve();
  };
}

function describeSize(
  size: number,
  { cost, eachUs }: { readonly cost: RunCost; readonly eachUs: number },
): Row {
  const { cpuMs, wallMs, peakBytes } = cost;
  const memory = peakBytes === null ? "" : `, ${megabytesText(peakBytes)}`;
  return {
    name: `validation of ${size.toLocaleString("en")} checks, processor time for each beyond the first`,
    value: eachUs,
    unit: "µs",
    note: `${millisecondsText(cpuMs)} altogether, ${millisecondsText(wallMs)} of wall time${memory}`,
  };
}

function compareCosts(eachUs: (size: number) => number): Row {
  const { small, large } = COMPARED;
  return {
    name: `validation of a check among ${large.toLocaleString("en")} against one among ${
      small.toLocaleString("en")
    }`,
    value: eachUs(large) / eachUs(small),
    unit: "×",
    note: "1 or less is linear",
    aim: 1.5,
  };
}

function makeDocument(size: number): string {
  const checks = Array.from({ length: size }, (_, index) => `    ${CHECKS[index % CHECKS.length]?.(index)}`);
  return `{
  "defaults": { "threshold": 2, "notifications": [{ "kind": "console", "parameters": {} }] },
  "checks": {
${checks.join(",\n")}
  }
}
`;
}

/** Checks as people write them: some say little, some a lot. */
const CHECKS: readonly ((index: number) => string)[] = [
  (index) =>
    `"page ${index}": { "title": "Website ${index}", "kind": "http_request",
      "schedule": { "regular_interval": "5 minutes", "attentive_interval": 30 },
      "parameters": { "request": { "target": "https://host-${index}.example.org/health" },
        "response": { "headers": { "Content-Type": "application/json" }, "body_part": "ok" } } }`,
  (index) =>
    `"disk ${index}": { "kind": "script", "threshold": 3,
      "parameters": { "path": "/usr/lib/nagios/plugins/check_disk", "arguments": ["-w", "10%", "/mount/${index}"] } }`,
  (index) =>
    `"backup ${index}": { "kind": "file_timestamp",
      "parameters": { "path": "/var/backups/${index}.tar", "warning_age": 93600, "critical_age": 172800 } }`,
  (index) => `"test ${index}": { "kind": "test", "parameters": { "condition": "ok" } }`,
];
