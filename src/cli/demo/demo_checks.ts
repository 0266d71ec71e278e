/** The invented checks of `monitor demo`: their part of a config, and their results. */
import type { Condition } from "../../domain/condition.ts";
import type { Check as WrittenCheck, CheckParameters } from "../../domain/generated/written_config.ts";
import { type CheckResult, checkResult } from "../../domain/check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../shared/time_units.ts";

export interface DemoCheck extends Findings {
  readonly name: string;
  readonly written: WrittenCheck;
  /** The problem at the start of the demonstration. @default none */
  readonly problem: Problem | undefined;
}

interface Findings {
  readonly ok: string;
  readonly troubles: readonly (readonly [condition: Condition, output: string])[];
  /** The typical duration of a run, milliseconds. */
  readonly usualMs: number;
  /** The number of incidents in 90 days. @default one or two */
  readonly incidents?: number | undefined;
}

interface Problem {
  /** The index in `troubles`. @default 0 */
  readonly trouble?: number;
  readonly sinceMinutes: number;
  /** Its end, after the start. @default never */
  readonly forMinutes?: number;
  /** The reaction of an administrator, with a note. */
  readonly quiet?: readonly ["acknowledgement" | "silence", note: string];
  /** Whether the check is new: it has no history before the problem. @default false */
  readonly isNew?: boolean;
}

function check<Kind extends keyof CheckParameters>(
  [name, tag, title]: Words,
  kind: Kind,
  parameters: CheckParameters[Kind],
  usual: Findings,
  more: More = {},
): DemoCheck {
  const { ok, troubles, usualMs, incidents, problem, ...rest } = { ...usual, ...more };
  const written = { title, tags: [tag], ...rest, kind, parameters } as WrittenCheck;
  return { name, written, ok, troubles, usualMs, incidents, problem };
}

type Words = readonly [name: string, tag: string, title: string];
type More = Omit<WrittenCheck, "kind" | "parameters"> & Partial<Pick<DemoCheck, "problem"> & Findings>;

function web(words: Words, target: string, more?: More): DemoCheck {
  const { host } = new URL(target);
  const response = { status_code: 200, warning_duration: "2 seconds", certificate: {} };
  return check(words, "http_request", { request: { target }, response }, {
    ok: "status is 200; certificate expires in 58 d 3 h",
    troubles: [
      ["critical", "status is 503, expected 200"],
      ["critical", `connecting to ${host}:443 failed: connection refused`],
      ["warning", "took 2.4 s, warning above 2 s"],
    ],
    usualMs: 160,
  }, more);
}

function port(words: Words, host: string, port: number, more?: More): DemoCheck {
  return check(words, "tcp_connect", { host, port }, {
    ok: "connected",
    troubles: [
      ["critical", `connecting to ${host}:${port} failed: connection refused`],
      ["critical", `connecting to ${host}:${port} failed: timeout after 10 s`],
    ],
    usualMs: 4,
  }, more);
}

function certificate(words: Words, host: string, days: number, more?: More): DemoCheck {
  const issued = 'issued by "R11"';
  return check(words, "tls_certificate", { host, warning_before_expiry: "14 days" }, {
    ok: `certificate expires in ${days} d 6 h, ${issued}`,
    troubles: [["warning", `certificate expires in 11 d 6 h, ${issued}, warning below 14 d`]],
    usualMs: 60,
    incidents: 0,
  }, more);
}

function disk(words: Words, path: string, free: number, more?: More): DemoCheck {
  const inodes = "free inodes 97% (970000 of 1000000)";
  return check(words, "disk_space", { path, free: { warning_below: "10%", critical_below: "5%" } }, {
    ok: `free ${free}% (${free * 4} GB of 400 GB); ${inodes}`,
    troubles: [["warning", `free 8% (32 GB of 400 GB), warning below 10%; ${inodes}`]],
    usualMs: 2,
  }, more);
}

function ping(words: Words, host: string, ms: number, more?: More): DemoCheck {
  return check(words, "ping", { host, count: 3, loss: { warning_above: "20%" } }, {
    ok: `lost 0% (0 of 3); round trip ${ms} ms`,
    troubles: [
      ["critical", "lost 100% (3 of 3)"],
      ["warning", `lost 33% (1 of 3), warning above 20%; round trip ${ms * 6} ms`],
    ],
    usualMs: 2000 + ms,
  }, more);
}

function unit(words: Words, unit: string): DemoCheck {
  return check(words, "systemd_unit", { unit }, {
    ok: `${unit} is active (running)`,
    troubles: [["critical", `${unit} is failed (failed), expected active`]],
    usualMs: 15,
    incidents: 0,
  });
}

function job(words: Words, every: string, more?: More): DemoCheck {
  return check(words, "job", { expected_every: every, grace: "2 hours" }, {
    ok: "last run ok, took 6 min",
    troubles: [
      ["critical", "the last run failed with exit code 1"],
      ["critical", `no check-in in time, expected every ${every}`],
    ],
    usualMs: 1,
  }, more);
}

function file(words: Words, path: string, more?: More): DemoCheck {
  return check(words, "file_timestamp", { path, warning_age: "26 hours" }, {
    ok: "changed 7 h ago, warning after 26 h",
    troubles: [["warning", "changed 31 h ago, warning after 26 h"]],
    usualMs: 1,
  }, more);
}

function names(words: Words, name: string, address: string, more?: More): DemoCheck {
  return check(words, "dns_lookup", { name, values: [address] }, {
    ok: `A of ${name}: "${address}"`,
    troubles: [["critical", `A of ${name}: no response from 192.0.2.53 within 10 s`]],
    usualMs: 12,
  }, more);
}

const UPDATING = { depends_on: ["staging"] };

export const DEMO_CHECKS: readonly DemoCheck[] = [
  web(["shop.web", "shop", "Shop"], "https://shop.example.org/", { objective: "99.9 % a month" }),
  web(["shop.checkout", "shop", "Checkout"], "https://shop.example.org/checkout", { usualMs: 420 }),
  web(["shop.search", "shop", "Search"], "https://search.example.org/health", {
    description: "The shop works without it, but customers leave.",
    usualMs: 650,
    incidents: 9,
    problem: { trouble: 2, sinceMinutes: 21, forMinutes: 4 },
  }),
  web(["shop.images", "shop", "Product images"], "https://images.example.org/probe.jpg", { usualMs: 45 }),
  certificate(["shop.certificate", "shop", "Certificate of the shop"], "shop.example.org", 58),
  web(["payments", "payments", "Payments API"], "https://payments.example.org/health", {
    runbook: "https://wiki.example.org/payments",
    usualMs: 230,
    objective: "99.95 % a month",
  }),
  check(["shop", "shop", "Shop, all of it"], "group", { checks: ["shop.web", "shop.checkout", "payments"] }, {
    ok: "",
    troubles: [],
    usualMs: 0,
  }, { objective: "99.9 % a month" }),
  web(["payments.callbacks", "payments", "Payment callbacks"], "https://hooks.example.org/ping", {
    incidents: 5,
  }),
  web(["payments.invoices", "payments", "Invoices"], "https://invoices.example.org/", {
    usualMs: 310,
    schedule: { regular_interval: "5 minutes" },
    threshold: 5,
    problem: { trouble: 1, sinceMinutes: 6, isNew: true },
  }),
  job(["payments.settlement", "payments", "Daily settlement"], "1 day", { incidents: 2 }),
  port(["postgres", "databases", "PostgreSQL, primary"], "db1.example.org", 5432),
  port(["postgres.replica", "databases", "PostgreSQL, replica"], "db2.example.org", 5432, {
    depends_on: ["postgres"],
    incidents: 4,
  }),
  port(["redis", "databases", "Redis"], "redis.example.org", 6379, {
    description: "The sessions of the shop. Without it, customers are signed out.",
    runbook: "https://wiki.example.org/redis",
    problem: { sinceMinutes: 38, quiet: ["acknowledgement", "Ada moves it to the new host"] },
  }),
  port(["rabbitmq", "databases", "Message queue"], "queue.example.org", 5672),
  check(["queue.length", "databases", "Orders in the queue"], "script", { path: "./check_queue.sh" }, {
    ok: "QUEUE OK - 12 orders are waiting",
    troubles: [["warning", "QUEUE WARNING - 1204 orders are waiting, more than 1000"]],
    usualMs: 90,
    incidents: 7,
  }),
  disk(["disk.db1", "databases", "Disk of db1"], "/srv/postgresql", 41),
  port(["smtp", "mail", "Mail server, incoming"], "mail.example.org", 25, { usualMs: 30 }),
  port(["imap", "mail", "Mailboxes"], "mail.example.org", 993, { usualMs: 35 }),
  check(["mail.queue", "mail", "Mail queue"], "script", { path: "/usr/lib/nagios/plugins/check_mailq" }, {
    ok: "OK: mailq is empty",
    troubles: [["warning", "WARNING: mailq is 214 (threshold w = 100)"]],
    usualMs: 120,
    incidents: 3,
  }, { problem: { sinceMinutes: 190, quiet: ["silence", "newsletter of this week"] } }),
  names(["mail.name", "mail", "Name of the mail server"], "mail.example.org", "192.0.2.25", {
    incidents: 0,
    schedule: { regular_interval: "15 minutes" },
    // It permits four minutes, less than one interval.
    objective: "99.99 % a month",
  }),
  certificate(["mail.certificate", "mail", "Certificate of the mail server"], "mail.example.org", 74, {
    problem: { sinceMinutes: 4000 },
  }),
  disk(["disk.web1", "machines", "Disk of web1"], "/", 58),
  disk(["disk.logs", "machines", "Disk of the logs"], "/var/log", 23, { incidents: 3 }),
  check(["memory.web1", "machines", "Memory of web1"], "memory", { available: { warning_below: "10%" } }, {
    ok: "available 46% (15 GB of 32 GB); swap used 2% (160 MB of 8 GB)",
    troubles: [["warning", "available 7% (2 GB of 32 GB), warning below 10%"]],
    usualMs: 1,
  }),
  check(["load.web1", "machines", "Load of web1"], "load", { load5: { warning_above: 2 } }, {
    ok: "load5 0.42 per processor",
    troubles: [["warning", "load5 2.61 per processor, warning above 2"]],
    usualMs: 1,
    incidents: 6,
  }),
  unit(["nginx", "machines", "nginx"], "nginx.service"),
  unit(["cron", "machines", "Cron daemon"], "cron.service"),
  check(["workers", "machines", "Workers of the shop"], "process", { name: "shop-worker" }, {
    ok: "count 8; age min 3 d; memory 2.1 GB",
    troubles: [["critical", "count 0, critical below 1"]],
    usualMs: 8,
    incidents: 1,
  }),
  check(
    ["updates", "machines", "Security updates"],
    "script",
    { path: "/usr/lib/nagios/plugins/check_apt" },
    {
      ok: "APT OK: 0 packages available for upgrade (0 critical updates)",
      troubles: [["warning", "APT WARNING: 3 packages available for upgrade (0 critical updates)"]],
      usualMs: 900,
      incidents: 4,
    },
  ),
  job(["backup", "jobs", "Nightly backup"], "1 day"),
  file(["backup.copy", "jobs", "Copy of the backup elsewhere"], "/srv/backup/latest.tar"),
  job(["reports", "jobs", "Monthly reports"], "31 days", { incidents: 0 }),
  file(["sitemap", "jobs", "Sitemap"], "/srv/www/sitemap.xml", { incidents: 2 }),
  ping(["gateway", "network", "Router"], "192.0.2.1", 1),
  ping(["office", "network", "Office"], "office.example.org", 18, { depends_on: ["gateway"], incidents: 8 }),
  port(["vpn", "network", "VPN"], "vpn.example.org", 443, { depends_on: ["gateway"] }),
  names(["resolver", "network", "Name server"], "www.example.org", "192.0.2.10"),
  web(["staging", "staging", "Staging"], "https://staging.example.org/", {
    incidents: 10,
    problem: { sinceMinutes: 17 },
  }),
  web(["staging.api", "staging", "Staging API"], "https://api.staging.example.org/", {
    ...UPDATING,
    incidents: 10,
    problem: { trouble: 1, sinceMinutes: 16 },
  }),
  port(["staging.database", "staging", "Staging database"], "db.staging.example.org", 5432, UPDATING),
];

interface DemoPlanOptions {
  readonly checks: readonly DemoCheck[];
  /** The end of the history; wall time, milliseconds since 1970. */
  readonly startMs: number;
  /** The length of the history. @default 90 */
  readonly days?: number;
}

export interface PlannedResult extends CheckResult {
  readonly durationMs: number;
}

interface PlannedCheck {
  readonly check: DemoCheck;
  readonly index: number;
  readonly past: readonly Incident[];
}

interface Incident {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly trouble: number;
}

/** The duration of a run in an output. */
const SECONDS = /\b(?:took|after|within) ([\d.]+) s\b/;

/** The interval of new failures while the demonstration runs. */
const NEXT_INCIDENT_MS = 30 * SECOND_MS;
const FIRST_INCIDENT_MS = 5 * SECOND_MS;
const INCIDENT_MS_MIN = 50 * SECOND_MS;
const INCIDENT_MS_MAX = 2 * MINUTE_MS;

/** The intervals of past runs, by age: as long as the strips of the page permit, which show 24 hours and days. */
const STEPS = [
  { untilMs: 30 * HOUR_MS, stepMs: HOUR_MS },
  { untilMs: 8 * DAY_MS, stepMs: 3 * HOUR_MS },
  { untilMs: Infinity, stepMs: DAY_MS },
] as const;
/** The last runs, which the page shows one by one. */
const LAST_RUNS = 25;
/** The longest splay: not all checks run at the same time. */
const SPLAY_MS = 8 * SECOND_MS;

/**
 * The results of the invented checks at any time before and after the start of the demonstration. They are deterministic
 * for a start.
 */
export class DemoPlan {
  readonly startMs: number;
  readonly beginMs: number;
  readonly #checks: ReadonlyMap<string, PlannedCheck>;
  readonly #restless: readonly string[];

  constructor({ checks, startMs, days = 90 }: DemoPlanOptions) {
    this.startMs = startMs;
    this.beginMs = startMs - days * DAY_MS;
    this.#checks = new Map(
      checks.map((check, index) => [check.name, { check, index, past: this.#incidentsOf(check, index) }]),
    );
    const isSteady = ({ problem, incidents, troubles, written }: DemoCheck): boolean =>
      problem !== undefined || incidents === 0 || troubles.length === 0 || written.depends_on !== undefined;
    this.#restless = checks.filter((check) => !isSteady(check)).map(({ name }) => name);
  }

  resultOf(name: string, atMs: number): PlannedResult {
    const { check: { ok, troubles, usualMs }, index } = this.#get(name);
    const slowerSinceMs = this.startMs - random(index, 7) * 90 * DAY_MS;
    const noise = 0.8 + 0.4 * random(index, atMs) + (random(index, atMs + 1) < 0.02 ? 1.5 : 0);
    const durationMs = usualMs * noise * (atMs > slowerSinceMs ? 1.3 : 1);
    const incident = this.#incidentAt(name, atMs);
    const [condition, output] = (incident === null ? undefined : troubles[incident.trouble]) ?? ["ok", ok];
    const [, seconds] = SECONDS.exec(output) ?? [];
    const tookMs = seconds === undefined ? durationMs : Number(seconds) * SECOND_MS + durationMs / 10;
    return { ...checkResult(condition, output), durationMs: tookMs };
  }

  /** Returns the times of the runs until the start: frequent enough to confirm each incident and its end. */
  timesOf(name: string): readonly number[] {
    const { check: { problem }, index, past: incidents } = this.#get(name);
    const beginMs = problem?.isNew === true ? incidents[0]?.fromMs ?? this.startMs : this.beginMs;
    const splayMs = Math.floor(random(index, 3) * SPLAY_MS);
    const times = new Set<number>();
    const add = (atMs: number): void => {
      if (atMs >= beginMs && atMs <= this.startMs) times.add(atMs);
    };
    for (let step = 0; step < LAST_RUNS; step++) add(this.startMs - step * MINUTE_MS - splayMs);
    if (problem?.isNew === true) return [...times].filter((_at, at) => at % 5 === 0).sort(byTime);
    let agoMs = splayMs;
    for (const { untilMs, stepMs } of STEPS) {
      for (; agoMs < Math.min(untilMs, this.startMs - beginMs); agoMs += stepMs) add(this.startMs - agoMs);
    }
    for (const { fromMs, untilMs } of incidents) {
      for (let step = 0; step < 3; step++) {
        add(fromMs + step * MINUTE_MS);
        add(untilMs + step * MINUTE_MS);
      }
    }
    return [...times].sort(byTime);
  }

  #get(name: string): PlannedCheck {
    const found = this.#checks.get(name);
    if (found === undefined) throw new Error(`There is no check "${name}" in the demonstration`);
    return found;
  }

  #incidentsOf({ troubles, incidents, problem }: DemoCheck, index: number): readonly Incident[] {
    const { startMs } = this;
    const now = problem === undefined ? [] : [{
      fromMs: startMs - problem.sinceMinutes * MINUTE_MS,
      untilMs: startMs + (problem.forMinutes ?? Infinity) * MINUTE_MS,
      trouble: problem.trouble ?? 0,
    }];
    if (problem?.isNew === true || troubles.length === 0) return now;
    const count = incidents ?? 1 + Math.floor(random(index, 1) * 2);
    const earliest = Array.from({ length: count }, (_, at) => {
      const [when, long, which] = [11, 12, 13].map((salt) => random(index, salt + 100 * (at + 1)));
      const fromMs = Math.floor(this.beginMs + (0.02 + 0.95 * (when ?? 0)) * (startMs - this.beginMs));
      return {
        fromMs,
        untilMs: fromMs + Math.floor(4 * MINUTE_MS + (long ?? 0) ** 4 * 9 * HOUR_MS),
        trouble: Math.floor((which ?? 0) * troubles.length),
      };
    });
    return [...earliest, ...now];
  }

  #incidentAt(name: string, atMs: number): Incident | null {
    const isNow = ({ fromMs, untilMs }: Incident): boolean => fromMs <= atMs && atMs < untilMs;
    const known = this.#checks.get(name)?.past.findLast(isNow);
    if (known !== undefined || atMs <= this.startMs) return known ?? null;
    const latest = Math.floor((atMs - this.startMs - FIRST_INCIDENT_MS) / NEXT_INCIDENT_MS);
    const earliest = latest - Math.ceil(INCIDENT_MS_MAX / NEXT_INCIDENT_MS);
    for (let turn = latest; turn >= Math.max(0, earliest); turn--) {
      const incident = this.#incidentOfTurn(turn);
      if (incident.name === name && isNow(incident)) return incident;
    }
    return null;
  }

  /** Returns an incident after the start, by its number; each concerns one check. */
  #incidentOfTurn(turn: number): Incident & { readonly name: string } {
    const [which = 0, long = 0, trouble = 0] = [21, 22, 23].map((salt) => random(turn, salt));
    const name = this.#restless[Math.floor(which * this.#restless.length)] ?? "";
    const fromMs = this.startMs + FIRST_INCIDENT_MS + turn * NEXT_INCIDENT_MS;
    return {
      name,
      fromMs,
      untilMs: fromMs + INCIDENT_MS_MIN + long * (INCIDENT_MS_MAX - INCIDENT_MS_MIN),
      trouble: Math.floor(trouble * (this.#checks.get(name)?.check.troubles.length ?? 0)),
    };
  }
}

/** Returns a number from 0 to below 1 that is deterministic for two numbers (mulberry32, by Tommy Ettinger). */
function random(one: number, other: number): number {
  let mixed = Math.imul(1 + Math.imul(one + 1, 0x9e3779b1) + Math.floor(other), 0x6d2b79f5);
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

function byTime(one: number, other: number): number {
  return one - other;
}
