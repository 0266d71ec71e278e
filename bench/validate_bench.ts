import { measureInTurn, median, millisecondsText } from "./measure.ts";
import type { Row } from "./row.ts";
import { measureValidation, type ValidateSample } from "./validate_process.ts";

const ROUNDS = 5;
const SIZES = [1000, 10_000, 100_000];
/** The two sizes whose cost for a check is compared; in smaller ones the engine is still warming up. */
const COMPARED = { small: 10_000, large: 100_000 };

/**
 * What a check costs while a document is read, validated and resolved, for documents of three sizes: it is to stay
 * the same however many there are. Each document is loaded in a process of its own.
 */
export async function benchValidate(): Promise<readonly Row[]> {
  const folder = await Deno.makeTempDir({ prefix: "monitor_bench_" });
  try {
    const subjects: Record<string, () => Promise<ValidateSample>> = {};
    const sizesInBytes = new Map<number, number>();
    for (const size of [1, ...SIZES]) {
      const path = `${folder}/${size}.json`;
      const text = makeDocument(size);
      await Deno.writeTextFile(path, text);
      sizesInBytes.set(size, text.length);
      subjects[size] = () => measureValidation(path);
    }
    const samples = await measureInTurn(ROUNDS, subjects);
    const costOf = (size: number): number =>
      median((samples[size] ?? []).map(({ cpuMs }) => cpuMs * 1000 / size));
    const rows = SIZES.map((size) => describeSize(size, samples[size] ?? []));
    return [...rows, compareCosts(costOf), describeMemory(samples, sizesInBytes)];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function describeSize(size: number, samples: readonly ValidateSample[]): Row {
  const wallMs = median(samples.map((sample) => sample.wallMs));
  const cpuMs = median(samples.map((sample) => sample.cpuMs));
  return {
    name: `validation of ${size.toLocaleString("en")} checks, processor time for each`,
    value: cpuMs * 1000 / size,
    unit: "µs",
    note: `${millisecondsText(cpuMs)} altogether, in ${millisecondsText(wallMs)} of wall time`,
  };
}

function compareCosts(costOf: (size: number) => number): Row {
  const { small, large } = COMPARED;
  return {
    name: `validation of a check among ${large.toLocaleString("en")} against one among ${
      small.toLocaleString("en")
    }`,
    value: costOf(large) / costOf(small),
    unit: "×",
    note: "1 or less is linear",
    aim: 1.5,
  };
}

function describeMemory(
  samples: Readonly<Record<string, readonly ValidateSample[]>>,
  sizesInBytes: ReadonlyMap<number, number>,
): Row {
  const megabytes = (size: number): number =>
    median((samples[size] ?? []).map(({ peakBytes }) => (peakBytes ?? NaN) / 1e6));
  const name = `validation of ${COMPARED.large.toLocaleString("en")} checks, peak memory`;
  const peak = megabytes(COMPARED.large);
  if (Number.isNaN(peak)) return { name, value: null, unit: "MB", note: "the system does not tell it" };
  const text = (sizesInBytes.get(COMPARED.large) ?? 0) / 1e6;
  return {
    name,
    value: peak,
    unit: "MB",
    note: `for ${text.toFixed(1)} MB of text; ${megabytes(1).toFixed(0)} MB for a document of one check`,
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
