/**
 * The probes of a `prometheus.yml` by the blackbox_exporter: jobs with their targets, the modules of `blackbox.yml`, the
 * alerting rules about probes, and the routes of `alertmanager.yml`.
 *
 * @see https://github.com/prometheus/blackbox_exporter/blob/master/CONFIGURATION.md
 */
import { type Labels, readAlertmanager, type Routed } from "./alertmanager.ts";
import { type AlertRule, alertSettings, limitsOf, readRules } from "./blackbox_rules.ts";
import { probeOf } from "./blackbox_modules.ts";
import { type ConfigDraft, type Importer, SourceItem } from "./config_draft.ts";
import { asText, Foreign } from "./foreign_value.ts";
import { type ForeignFile, type IncludedFiles, parseMapping, parseYaml } from "./foreign_text.ts";
import { intervalText, parsePrometheusDuration } from "./span_text.ts";

export const blackboxImporter: Importer = {
  expects:
    'a prometheus.yml with "scrape_configs" of the blackbox_exporter, near blackbox.yml and alertmanager.yml',
  translate: async (file, draft, included) => {
    const config = (await parseMapping(file, blackboxImporter.expects)).escapePlaceholders();
    const near = { file, draft, included };
    const modules = (await readNear(BLACKBOX, near)).object("modules");
    const alertmanager = await readNear(ALERTMANAGER, near);
    const route = await readAlertmanager(alertmanager, draft);
    const rules: AlertRule[] = [];
    for (const one of await readAll(config.texts("rule_files"), "rule_files", near)) {
      rules.push(...await readRules(Foreign.of(await parseYaml(one)).escapePlaceholders(), draft));
    }
    const global = config.object("global");
    for (const job of config.objects("scrape_configs")) {
      await translateJob(job, { ...near, global, modules, rules, route });
    }
  },
};

interface Near {
  readonly file: ForeignFile;
  readonly draft: ConfigDraft;
  readonly included: IncludedFiles;
}

interface Context extends Near {
  readonly global: Foreign;
  readonly modules: Foreign;
  readonly rules: readonly AlertRule[];
  route(labels: Labels): Routed;
}

const BLACKBOX = { name: "blackbox.yml", lost: "its modules are unknown, and their probes are not imported" };
const ALERTMANAGER = { name: "alertmanager.yml", lost: "checks have no channels" };

/** Reads a file that Prometheus does not name: in the directory of the config, one below, or one next to it. */
async function readNear(
  { name, lost }: { readonly name: string; readonly lost: string },
  { file, draft, included }: Near,
): Promise<Foreign> {
  for (const pattern of [name, `*/${name}`, `../*/${name}`]) {
    const found = await included.matching(pattern, file);
    const [first] = typeof found === "string" ? [] : found;
    if (first !== undefined) return (await parseMapping(first, name)).escapePlaceholders();
  }
  draft.leaveOut(name, null, `not found near the config: ${lost}`);
  return new Foreign({});
}

async function readAll(
  patterns: readonly string[],
  key: string,
  { file, draft, included }: Near,
): Promise<readonly ForeignFile[]> {
  const read: ForeignFile[] = [];
  for (const pattern of patterns) {
    const found = await included.matching(pattern, file);
    if (typeof found === "string") draft.leaveOut(key, pattern, found);
    else read.push(...found);
  }
  return read;
}

async function translateJob(job: Foreign, context: Context): Promise<void> {
  const { draft } = context;
  const name = job.text("job_name") ?? "unnamed";
  const [moduleOfJob] = job.object("params").texts("module");
  const isProbe = moduleOfJob !== undefined || job.text("metrics_path") === "/probe";
  if (!isProbe) return draft.leaveOut(`job "${name}"`, null, "it collects metrics, and is no probe");
  for (const [key] of job.entries) {
    if (/_sd_configs$/.test(key) && key !== "file_sd_configs") {
      draft.leaveOut(`job "${name}"`, key, "targets are written down: list them by for_each");
    }
  }
  for (const { targets, labels } of await targetGroups(job, name, context)) {
    for (const target of targets) translateTarget(target, { ...context, job, name, labels, moduleOfJob });
  }
}

async function targetGroups(job: Foreign, name: string, context: Context) {
  const groups = [...job.objects("static_configs")];
  const patterns = job.objects("file_sd_configs").flatMap((one) => one.texts("files"));
  for (const file of await readAll(patterns, `job "${name}"`, context)) {
    const listed = await parseYaml(file);
    if (Array.isArray(listed)) groups.push(...listed.map((one) => Foreign.of(one).escapePlaceholders()));
    else context.draft.leaveOut(`job "${name}"`, file.label, "it is not a list of targets");
  }
  // A job may probe one target that is a parameter.
  const inParameters = job.object("params").texts("target");
  return [
    ...groups.map((group) => ({ targets: group.texts("targets"), labels: group.object("labels") })),
    ...groups.length === 0 ? [{ targets: inParameters, labels: new Foreign({}) }] : [],
  ];
}

interface TargetContext extends Context {
  readonly job: Foreign;
  readonly name: string;
  readonly labels: Foreign;
  readonly moduleOfJob: string | undefined;
}

function translateTarget(
  target: string,
  { draft, job, name, labels, moduleOfJob, global, modules, rules, route }: TargetContext,
): void {
  const item = new SourceItem(draft, `job "${name}", ${hiddenIn(target)}`, `${name} ${hiddenIn(target)}`);
  const module = labels.text("__param_module") ?? labels.text("module") ?? moduleOfJob ?? "http_2xx";
  if (!modules.has(module)) return item.leaveOut(null, `blackbox.yml has no module "${module}"`);
  const own = Object.fromEntries(labels.entries.flatMap(([label, value]) => {
    const text = asText(value);
    return text === undefined || label.startsWith("__") || label === "module" ? [] : [[label, text]];
  }));
  const all = { ...own, job: name, instance: target };
  const selecting = rules.filter(({ selects }) => selects(all));
  const settings = modules.object(module);
  const probe = probeOf(settings, { target, limits: limitsOf(selecting), item });
  if (typeof probe === "string") return item.leaveOut(null, probe);
  const spanOf = (from: Foreign, key: string): number | null => parsePrometheusDuration(from.text(key) ?? "");
  const intervalMs = spanOf(job, "scrape_interval") ?? spanOf(global, "scrape_interval") ?? 60_000;
  const timeoutMs = spanOf(settings, "timeout") ?? spanOf(job, "scrape_timeout") ??
    spanOf(global, "scrape_timeout") ?? 10_000;
  draft.addCheck(item.name, {
    title: hiddenIn(target),
    tags: [...new Set([name, ...Object.values(own)])].slice(0, TAGS_MAX),
    schedule: { regular_interval: intervalText(intervalMs) },
    timeout: intervalText(Math.min(timeoutMs, intervalMs)),
    ...alertSettings(selecting, { labels: all, intervalMs, item, route }),
    ...probe,
  });
}

const TAGS_MAX = 20;

/** A target without user information and values of parameters. */
function hiddenIn(target: string): string {
  return target.replace(/^([a-z]+:\/\/)[^/@?#]*@/i, "$1").replace(/[?#].*$/s, "");
}
