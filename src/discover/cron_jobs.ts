import { type CronJob, CronLineError, readCronLine } from "./cron_line.ts";
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
  const own = await printedBy({
    name: "crontab",
    arguments: ["-l"],
    what: WHAT,
    // Without a crontab.
    codes: [0, 1],
  }, discovery);
  return [...proposals, ...jobsIn(own ?? "", { place: "the crontab", hasUser: false })];
}

function jobsIn(
  text: string,
  { place, hasUser }: { readonly place: string; readonly hasUser: boolean },
): readonly Proposal[] {
  return text.split("\n").flatMap((line) => {
    // A job that checks in already, the monitor itself, and the directories of jobs.
    if (/\bmonitor\s+(?:beat|check)\b|\brun-parts\b/.test(line)) return [];
    const cronJob = readJob(line, { place, hasUser });
    if (cronJob === null) return [];
    return [{
      words: cronJob.words,
      reason: `job that runs every ${cronJob.every}, in ${place}`,
      cronJob,
    }];
  });
}

function readJob(
  line: string,
  options: { readonly place: string; readonly hasUser: boolean },
): CronJob | null {
  try {
    return readCronLine(line, options);
  } catch (error) {
    if (error instanceof CronLineError) return null;
    throw error;
  }
}
