/** Whether the program said what it should, and nothing of a bug. */
import { type Judgement, some } from "./judgement.ts";
import type { SoakRecord } from "./record.ts";

/** Judges the log, the reloads, the calls beside it, the files that it keeps and how it ended. */
export function judgeWords(record: SoakRecord): readonly Judgement[] {
  return [
    {
      what: "its log tells of no crash and no bug",
      holds: record.crashLines.length === 0,
      found: record.crashLines.length === 0 ? "none" : some(record.crashLines),
    },
    judgeReloads(record),
    judgeCalls(record),
    judgeFiles(record),
    {
      what: "asked to stop by SIGTERM, it ends with exit code 0",
      holds: record.exitCode === 0,
      found: String(record.exitCode),
    },
  ];
}

function judgeReloads({ refusals, adopted }: SoakRecord): Judgement {
  const wrong = refusals.flatMap(({ word, said, isAdopted }) => {
    if (isAdopted === null) return [`nothing was said of what ${word} is wrong with`];
    if (isAdopted) return [`what ${word} is wrong with was adopted`];
    return word.test(said) ? [] : [`the log does not say ${word}`];
  });
  return {
    what: "each invalid config was refused with a word of why, each valid one adopted",
    holds: wrong.length === 0 && refusals.length > 0 && adopted > 0,
    found: `${adopted} adopted, ${refusals.length} refused${wrong.length === 0 ? "" : `; ${some(wrong)}`}`,
  };
}

/** What is called while the program is stopped may find the state in the middle of a write. */
function judgeCalls({ calls, pauses }: SoakRecord): Judgement {
  const stops = pauses.filter(({ reason }) => reason === "stopped");
  const wrong = calls
    .filter(({ trouble }) => trouble !== "")
    .filter(({ atMs }) => !stops.some(({ fromMs, untilMs }) => atMs >= fromMs - 5_000 && atMs < untilMs))
    .map(({ args, code, trouble }) => `${args.join(" ")}: ${code}: ${trouble}`);
  return {
    what: "status, silence, beat and history work beside it",
    holds: wrong.length === 0 && calls.length > 0,
    found: `${calls.length} calls${wrong.length === 0 ? "" : `; ${some(wrong)}`}`,
  };
}

function judgeFiles({ files }: SoakRecord): Judgement {
  const wrong = files.flatMap(({ name, trouble }) => trouble === null ? [] : [`${name} ${trouble}`]);
  return {
    what: "its page, its metrics and its sign of life were whole and fresh each time",
    holds: wrong.length === 0 && files.length > 0,
    found: `${files.length} looks${wrong.length === 0 ? "" : `; ${some(wrong)}`}`,
  };
}
