/**
 * The probes of a `prometheus.yml` by the blackbox_exporter: jobs with their targets, the modules of `blackbox.yml`, the
 * alerting rules about probes, and the routes of `alertmanager.yml`.
 *
 * @see https://github.com/prometheus/blackbox_exporter/blob/master/CONFIGURATION.md
 */
import type * as written from "../domain/generated/written_config.ts";
import {
  type AlertRule,
  alertSettings,
  type Labels,
  limitsOf,
  type ProbeLimits,
  readAlertmanager,
  readRules,
  type Routed,
} from "./prometheus_alerts.ts";
import { type ConfigDraft, type Importer, SourceItem } from "./config_draft.ts";
import {
  asText,
  asTexts,
  Foreign,
  type ForeignFile,
  type IncludedFiles,
  parseMapping,
  parseYaml,
} from "./foreign_text.ts";
import {
  dnsLookup,
  dnsServerIn,
  intervalText,
  parseHostAndPort,
  parsePrometheusDuration,
  parseServer,
} from "./span_text.ts";

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

interface Context extends Near, Readonly<Record<"global" | "modules", Foreign>> {
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

interface Probe {
  readonly target: string;
  readonly limits: ProbeLimits;
  readonly item: SourceItem;
}

/** Returns the check of a target, or why there is none. */
function probeOf(module: Foreign, probe: Probe): written.CheckByKind | string {
  const prober = module.text("prober") ?? "http";
  const make = PROBERS[prober];
  if (make === undefined) return `no check for the prober "${prober}"`;
  const settings = module.object(prober);
  const check = make(settings, probe);
  if (typeof check === "string") return check;
  const { limits: { duration, isWarning }, item } = probe;
  if (Object.keys(duration).length > 0 && !LIMITED.includes(check.kind)) {
    item.leaveOut("duration", "this kind of check has no limit of the duration but timeout");
  }
  if (check.kind === "ping" && isWarning) item.leaveOut("severity", "a ping that fails is critical");
  for (const key of settings.unread) {
    if (!IGNORED.includes(key)) item.leaveOut(`${prober}.${key}`, LEFT_OUT[key] ?? "no counterpart");
  }
  if (check.kind === "ping" || !isWarning) return check;
  return { ...check, parameters: { ...check.parameters, as_warning: true } } as written.CheckByKind;
}

const LIMITED: readonly string[] = ["http_request", "ping"];

const PROBERS: Readonly<
  Record<string, (settings: Foreign, probe: Probe) => written.CheckByKind | string>
> = {
  http: httpProbe,
  tcp: tcpProbe,
  dns: dnsProbe,
  icmp: pingProbe,
  grpc: grpcProbe,
  websocket: websocketProbe,
};

/** Keys that change nothing in a check. */
const IGNORED: readonly string[] =
  ("compression enable_http2 enable_http3 fail_if_not_ssl follow_redirects ip_protocol_fallback " +
    "preferred_ip_protocol recursion_desired valid_http_versions").split(" ");

const LEFT_OUT: Readonly<Record<string, string>> = {
  body_file: "write the body",
  oauth2: "write an http_request check with steps",
  proxy_url: "set HTTP_PROXY or HTTPS_PROXY",
  proxy_from_environment: "HTTP_PROXY and HTTPS_PROXY are used anyway",
  transport_protocol: "UDP is used first, then TCP",
};

function httpProbe(settings: Foreign, { target, limits, item }: Probe): written.CheckByKind {
  const url = /^https?:\/\//i.test(target) ? target : `http://${target}`;
  const login = settings.object("basic_auth");
  const authorization = settings.object("authorization");
  const token = settings.text("bearer_token") ?? authorization.text("credentials");
  const headers = settings.object("headers").toTexts();
  if (token !== undefined) headers["Authorization"] = `${authorization.text("type") ?? "Bearer"} ${token}`;
  for (const [key, from] of [["basic_auth", login], ["authorization", authorization]] as const) {
    for (const name of ["password_file", "username_file", "credentials_file"]) {
      if (from.has(name)) item.leaveOut(`http.${key}.${name}`, "write a placeholder such as ${file:PATH}");
    }
  }
  const refusesRedirects = settings.boolean("follow_redirects") === false ||
    settings.boolean("no_follow_redirects") === true;
  const tls = tlsOf(settings, item, "http");
  const isTls = /^https:/i.test(url);
  return {
    kind: "http_request",
    parameters: {
      request: item.request(url, {
        ...{ method: settings.text("method"), headers, body: settings.body("body"), refusesRedirects },
        login: { username: login.text("username"), password: login.text("password") },
        tls: isTls ? tls : undefined,
      }),
      response: expectationOf(settings, { item, limits, isTls }),
    },
  };
}

function expectationOf(
  settings: Foreign,
  { item, limits, isTls }: Pick<Probe, "item" | "limits"> & { readonly isTls: boolean },
): written.HttpExpectation {
  const durations = Object.entries(limits.duration).map(([level, limit]) => [`${level}_duration`, limit]);
  const expiries = Object.entries(limits.expiry).map(([level, limit]) => [`${level}_before_expiry`, limit]);
  const codes = settings.texts("valid_status_codes").map(Number).filter(Number.isInteger);
  const refused = settings.texts("fail_if_body_matches_regexp");
  const [required, ...others] = settings.texts("fail_if_body_not_matches_regexp");
  for (const other of others) {
    item.leaveOut("http.fail_if_body_not_matches_regexp", `one pattern can be expected, not also ${other}`);
  }
  const headers = settings.objects("fail_if_header_not_matches").flatMap((header) => {
    const [name, pattern] = [header.text("header"), header.text("regexp")];
    if (header.boolean("allow_missing") === true) {
      item.leaveOut("http.fail_if_header_not_matches", "an expected header cannot be absent");
      return [];
    }
    return name === undefined || pattern === undefined ? [] : [[name, { matches: pattern }]];
  });
  const either = refused.length > 1 ? refused.map((one) => `(?:${one})`).join("|") : refused[0];
  return {
    ...{ status_code: codes.length === 0 ? "2xx" : codes, not_body_pattern: either, body_pattern: required },
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...Object.fromEntries(durations),
    ...(isTls && expiries.length > 0 && { certificate: Object.fromEntries(expiries) }),
  };
}

/** The keys of TLS that have a counterpart; `undefined`: none is set. */
function tlsOf(settings: Foreign, item: SourceItem, prober: string): written.HttpMessageTls | undefined {
  const config = settings.object("tls_config");
  const [ca, certificate, key] = ["ca_file", "cert_file", "key_file"].map((name) => config.text(name));
  const isInsecure = config.boolean("insecure_skip_verify") === true && ca === undefined &&
    certificate === undefined;
  for (const name of config.unread) item.leaveOut(`${prober}.tls_config.${name}`, "no counterpart");
  if (ca === undefined && certificate === undefined && !isInsecure) return undefined;
  return isInsecure ? { verify: false } : { ca_file: ca, certificate, key };
}

function tcpProbe(settings: Foreign, { target, limits, item }: Probe): written.CheckByKind | string {
  const place = parseServer(target);
  if (place === null) return "the target has no port";
  const tls = tlsOf(settings, item, "tcp");
  if (tls?.certificate !== undefined) item.leaveOut("tcp.tls_config.cert_file", "only http_request has one");
  const isTls = settings.boolean("tls") === true;
  const steps = stepsOf(settings.objects("query_response"), item);
  const isVerified = isTls || steps.some((step) => step.start_tls === true);
  if (isVerified && Object.keys(limits.expiry).length > 0) {
    item.leaveOut("expiry", "write a tls_certificate check");
  }
  return {
    kind: "tcp_connect",
    parameters: {
      ...{ ...place, tls: isTls || undefined },
      ...(isVerified && { verify: tls?.verify, ca_file: tls?.ca_file }),
      ...(steps.length > 0 && { steps }),
    },
  };
}

/** In a module a part first expects, then sends; a step first sends, then expects. */
function stepsOf(parts: readonly Foreign[], item: SourceItem): readonly written.TcpStep[] {
  const steps: written.TcpStep[] = [];
  let last: written.TcpStep = {};
  const add = (next: written.TcpStep, isBehind: (step: written.TcpStep) => boolean): void => {
    if (isBehind(last)) last = { ...steps.pop(), ...next };
    else last = next;
    steps.push(last);
  };
  for (const part of parts) {
    const [expect, send] = [part.text("expect"), part.body("send")];
    if (expect !== undefined) add({ expect }, (step) => "send" in step && !step.expect && !step.start_tls);
    if (send !== undefined) {
      if (/\$(?:\{|\d)/.test(send)) {
        item.leaveOut("tcp.query_response", "write what is captured as ${captured:NAME}");
      }
      steps.push(last = { send: item.body(`${send}\n`) });
    }
    if (part.boolean("starttls") === true) {
      add({ start_tls: true }, (step) => "send" in step && !step.start_tls);
    }
    for (const key of part.unread) item.leaveOut(`tcp.query_response.${key}`, "no counterpart");
  }
  return steps;
}

function grpcProbe(settings: Foreign, { target, item }: Probe): written.CheckByKind | string {
  const place = parseServer(target);
  if (place === null) return "the target has no port";
  const tls = tlsOf(settings, item, "grpc");
  const secured = settings.boolean("tls") ? { tls: true, verify: tls?.verify, ca_file: tls?.ca_file } : {};
  return { kind: "grpc_health", parameters: { ...place, service: settings.text("service"), ...secured } };
}

function websocketProbe(settings: Foreign, { target, item }: Probe): written.CheckByKind {
  const url = /^wss?:\/\//i.test(target) ? target : `ws://${target}`;
  const listed = settings.object("headers").entries;
  const headers = Object.fromEntries(listed.map(([name, value]) => [name, asTexts(value).join(", ")]));
  return { kind: "websocket", parameters: { url: item.url(url), headers: item.headers(headers) } };
}

function dnsProbe(settings: Foreign, { target, item }: Probe): written.CheckByKind | string {
  const name = settings.text("query_name");
  if (name === undefined) return "dns.query_name is missing";
  const server = dnsServerIn(target);
  if (server === undefined) return "server must be an IP address: write a dns_lookup check";
  const type = settings.text("query_type")?.toUpperCase() ?? "ANY";
  const codes = settings.texts("valid_rcodes");
  if (codes.some((code) => code !== "NOERROR")) item.leaveOut("dns.valid_rcodes", "only NOERROR is ok");
  return dnsLookup(name, { type: type === "ANY" ? "A" : type, server });
}

function pingProbe(_: Foreign, { target, limits }: Probe): written.CheckByKind {
  const above = Object.entries(limits.duration).map(([level, limit]) => [`${level}_above`, limit]);
  const round_trip = above.length > 0 ? Object.fromEntries(above) : undefined;
  return { kind: "ping", parameters: { host: parseHostAndPort(target)?.host ?? target, round_trip } };
}
