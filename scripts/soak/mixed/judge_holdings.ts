/** Whether the program holds more and more: memory, descriptors, processes, its state. */
import { type Judgement, median } from "./judgement.ts";
import type { Pause, QuietPoint, Sample, SoakRecord, Span } from "./record.ts";

/** How much the memory of the last third may exceed that of the middle one. */
const GROWTH_MAX = 0.05;
/** How long after a quiet point the program holds less than it does at work, or more: all checks begin at once. */
const AFTER_QUIET_MS = 5_000;

/** Judges what is held. */
export function judgeHoldings(record: SoakRecord): readonly Judgement[] {
  const [first, ...later] = record.quietPoints;
  return [
    judgeMemory(record),
    judgeDescriptors(first, later),
    judgeProcesses(record),
  ];
}

/** The samples of a time, those of pauses and just behind quiet points left out. */
export function samplesIn(
  { fromMs, untilMs }: Span,
  { samples, pauses }: { readonly samples: readonly Sample[]; readonly pauses: readonly Pause[] },
): readonly Sample[] {
  const isPaused = (atMs: number): boolean =>
    pauses.some(({ reason, ...pause }) =>
      atMs >= pause.fromMs && atMs < pause.untilMs + (reason === "quiet" ? AFTER_QUIET_MS : 0)
    );
  return samples.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs && !isPaused(atMs));
}

function judgeMemory(record: SoakRecord): Judgement {
  const [, middle, last] = record.thirds;
  const medianOf = (span: Span): number =>
    median(samplesIn(span, record).map(({ residentBytes }) => residentBytes));
  const before = medianOf(middle);
  const after = medianOf(last);
  const growth = after / before - 1;
  return {
    what: `resident memory (median) of the last third within ${GROWTH_MAX * 100} % of the third before`,
    holds: Math.abs(growth) <= GROWTH_MAX,
    found: `${megabytes(before)} MB, then ${megabytes(after)} MB: ${growth < 0 ? "" : "+"}${
      (growth * 100).toFixed(1)
    } %`,
  };
}

function judgeDescriptors(first: QuietPoint | undefined, later: readonly QuietPoint[]): Judgement {
  const what = "descriptors of each kind equal at all quiet points";
  if (first === undefined || later.length === 0) return { what, holds: false, found: "too few quiet points" };
  const points = [first, ...later];
  const counts = points.map(({ descriptors }) =>
    Object.values(descriptors).reduce((sum, count) => sum + count, 0)
  );
  const kinds = new Set(points.flatMap(({ descriptors }) => Object.keys(descriptors)));
  const differing = [...kinds].filter((kind) =>
    later.some(({ descriptors }) => (descriptors[kind] ?? 0) !== (first.descriptors[kind] ?? 0))
  );
  const series = differing.map((kind) =>
    `${kind} ${points.map(({ descriptors }) => descriptors[kind] ?? 0).join(" → ")}`
  );
  return {
    what,
    holds: differing.length === 0,
    found: [counts.join(", "), ...series].join("; "),
  };
}

function judgeProcesses({ quietPoints, survivors }: SoakRecord): Judgement {
  const children = quietPoints.map((point) => point.children);
  const orphans = quietPoints.map((point) => point.orphans);
  return {
    what: "no process of a check at any quiet point, nor when the program has ended",
    holds: [...children, ...orphans, survivors].every((count) => count === 0),
    found: `children ${children.join(", ")}; left by children ${orphans.join(", ")}; at the end ${survivors}`,
  };
}

/** As in `81.3`. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
