import { CronLineError, readCronLine } from "./cron_line.ts";
import { type Discovery, namesIn, printedBy, type Proposal, textOf } from "./discovery.ts";

const WHAT = "cron jobs";

/** Proposes the jobs of the system's crontabs and of the user's own. */
export async function discoverCronJobs(discovery: Discovery): Promise<readonly Proposal[]> {
  const files = ["/etc/crontab"];
  // Cron ignores names with a dot.
  for (const name of await namesIn("/etc/cron.d", WHAT, discovery)) {
    if (/^[\w-]+$/.test(name)) files.push(`/etc/cron.d/${name}`);
  }
  const proposals: Proposal[] = [];
  for (const file of files) {
    const text = await textOf(file, WHAT, discovery);
    if (text !== null) proposals.push(...jobsIn(text, { place: file, hasUser: true }));
  }
  if (discovery.system.platform === "windows") return proposals;
  // Without a crontab, it exits with 1.
  const own = await printedBy({ name: "crontab", arguments: ["-l"], what: WHAT, codes: [0, 1] }, discovery);
  return [...proposals, ...jobsIn(own ?? "", { place: "the crontab", hasUser: false })];
}

function jobsIn(text: string, options: Parameters<typeof readCronLine>[1]): readonly Proposal[] {
  return text.split("\n").flatMap((line) => {
    // A job that checks in already, the monitor itself, and the directories of jobs.
    if (/\bmonitor\s+(?:beat|check)\b|\brun-parts\b/.test(line)) return [];
    try {
      const cronJob = readCronLine(line, options);
      if (cronJob === null) return [];
      const { words, every, place } = cronJob;
      return [{ words, reason: `job that runs every ${every}, in ${place}`, cronJob }];
    } catch (error) {
      if (error instanceof CronLineError) return [];
      throw error;
    }
  });
}
