/** The invented checks of `monitor demo`: their part of a config, and their results. */
import type { Condition } from "../../domain/condition.ts";
import type { Check as WrittenCheck, CheckParameters } from "../../domain/generated/written_config.ts";

export interface DemoCheck {
  readonly name: string;
  readonly written: WrittenCheck;
  readonly findings: Findings;
  /** The problem at the start of the demonstration; absent: none. */
  readonly problem?: Problem;
}

export interface Findings {
  readonly ok: string;
  readonly troubles: readonly (readonly [condition: Condition, output: string])[];
  /** The typical duration of a run, milliseconds. */
  readonly usualMs: number;
  /** The number of incidents in 90 days. @default one or two */
  readonly incidents?: number;
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
  return {
    name,
    written: { title, tags: [tag], ...rest, kind, parameters } as WrittenCheck,
    findings: { ok, troubles, usualMs, ...incidents !== undefined && { incidents } },
    ...problem !== undefined && { problem },
  };
}

type Words = readonly [name: string, tag: string, title: string];
type More = Omit<WrittenCheck, "kind" | "parameters"> & Pick<DemoCheck, "problem"> & Partial<Findings>;

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

const CHECKS: readonly DemoCheck[] = [
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

/** Returns a number of checks; after the listed ones, generated shops. */
export function demoChecks(count = CHECKS.length): readonly DemoCheck[] {
  const shops = Array.from({ length: Math.max(0, count - CHECKS.length) }, (_, index) => {
    const name = `shop-${String(index + CHECKS.length).padStart(4, "0")}`;
    return web([name, "shops", `Order page of ${name}`], `https://${name}.example.org/`);
  });
  return [...CHECKS.slice(0, count), ...shops];
}
