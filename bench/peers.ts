/**
 * The programs that are compared: `monitor` and its peers, each with its usual config for many targets. They run as the
 * present user, and write into a temporary directory only.
 */
import { userInfo } from "node:os";
import type { Workplace } from "./workplace.ts";

/** What all programs check once a second. */
export interface PeerLoad {
  /** Their kind. */
  readonly kind: "requests" | "scripts";
  /** A URL or the path of a script for each check. */
  readonly targets: readonly string[];
}

/** One of the compared programs. */
export interface Peer {
  /** Its name in the table. */
  readonly name: string;
  /** Its programs by path, with their Debian packages. */
  readonly packages: Readonly<Record<string, string>>;
  /** What it checks. */
  readonly kinds: readonly PeerLoad["kind"][];
  /** Writes its config and returns the commands of its processes by name. They run in the foreground. */
  prepare(directory: string, load: PeerLoad): Promise<Readonly<Record<string, readonly string[]>>>;
}

/** Returns the programs in the order of the table. */
export function listPeers({ programs }: Workplace): readonly Peer[] {
  const { form, commands } = programs.best;
  const executable = Deno.env.get("MONITOR_PROGRAM");
  const monitor = executable === undefined ? commands.monitor : [executable];
  return [
    {
      name: `monitor (${executable === undefined ? form : "executable"})`,
      packages: {},
      kinds: ["requests", "scripts"],
      prepare: (directory, load) => prepareMonitor(directory, load, monitor),
    },
    {
      name: "Prometheus with blackbox_exporter",
      packages: { [PROMETHEUS]: "prometheus", [EXPORTER]: "prometheus-blackbox-exporter" },
      kinds: ["requests"],
      prepare: prepareExporter,
    },
    {
      name: "Monit",
      packages: { [MONIT]: "monit" },
      kinds: ["requests", "scripts"],
      prepare: prepareMonit,
    },
    {
      name: "Nagios",
      packages: { [NAGIOS]: "nagios4-core", [CHECK_HTTP]: "monitoring-plugins-basic" },
      kinds: ["requests", "scripts"],
      prepare: prepareNagios,
    },
  ];
}

async function prepareMonitor(
  directory: string,
  { kind, targets }: PeerLoad,
  command: readonly string[],
): ReturnType<Peer["prepare"]> {
  const checkOf = (target: string) =>
    kind === "requests"
      ? { kind: "http_request", parameters: { request: { target }, response: { status_code: 200 } } }
      : { kind: "script", parameters: { path: target } };
  const checks = Object.fromEntries(targets.map((target, index) => [`check ${index}`, checkOf(target)]));
  const config = { defaults: { schedule: { regular_interval: 1 }, notifications: [] }, checks };
  const path = `${directory}/monitor.json`;
  await Deno.writeTextFile(path, JSON.stringify(config));
  return { monitor: [...command, "check", "--config", path, "--state", `${directory}/state.sqlite`] };
}

const PROMETHEUS = "/usr/bin/prometheus";
const EXPORTER = "/usr/bin/prometheus-blackbox-exporter";

/** The exporter has no schedule, and decides nothing: Prometheus runs it, and evaluates one rule. */
async function prepareExporter(directory: string, { targets }: PeerLoad): ReturnType<Peer["prepare"]> {
  const [exporter, prometheus] = [`127.0.0.1:${freePort()}`, `127.0.0.1:${freePort()}`];
  const paths = {
    exporter: `${directory}/blackbox.yml`,
    rules: `${directory}/rules.yml`,
    prometheus: `${directory}/prometheus.yml`,
  };
  // YAML contains JSON.
  const write = (path: string, value: unknown): Promise<void> =>
    Deno.writeTextFile(path, JSON.stringify(value));
  await write(paths.exporter, { modules: { http_2xx: { prober: "http" } } });
  await write(paths.rules, {
    groups: [{ name: "probes", rules: [{ alert: "ProbeFailed", expr: "probe_success == 0" }] }],
  });
  await write(paths.prometheus, {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: [paths.rules],
    scrape_configs: [{
      job_name: "probes",
      metrics_path: "/probe",
      params: { module: ["http_2xx"] },
      static_configs: [{ targets }],
      relabel_configs: [
        { source_labels: ["__address__"], target_label: "__param_target" },
        { source_labels: ["__param_target"], target_label: "instance" },
        { target_label: "__address__", replacement: exporter },
      ],
    }],
  });
  return {
    exporter: [EXPORTER, `--config.file=${paths.exporter}`, `--web.listen-address=${exporter}`],
    Prometheus: [
      PROMETHEUS,
      `--config.file=${paths.prometheus}`,
      `--web.listen-address=${prometheus}`,
      `--storage.tsdb.path=${directory}/data`,
    ],
  };
}

const MONIT = "/usr/bin/monit";

async function prepareMonit(directory: string, { kind, targets }: PeerLoad): ReturnType<Peer["prepare"]> {
  const checkOf = (target: string, index: number): string => {
    if (kind === "scripts") {
      return `check program check${index} with path "${target}" if status != 0 then alert`;
    }
    const { hostname, port, pathname } = new URL(target);
    return `check host check${index} with address ${hostname} ` +
      `if failed port ${port} protocol http request "${pathname}" status = 200 then alert`;
  };
  const path = `${directory}/monitrc`;
  const lines = [
    "set daemon 1",
    `set pidfile ${directory}/pid`,
    `set idfile ${directory}/id`,
    `set statefile ${directory}/state`,
    ...targets.map(checkOf),
  ];
  await Deno.writeTextFile(path, `${lines.join("\n")}\n`, { mode: 0o700 });
  return { Monit: [MONIT, "-I", "-c", path] };
}

const NAGIOS = "/usr/sbin/nagios4";
const CHECK_HTTP = "/usr/lib/nagios/plugins/check_http";

async function prepareNagios(directory: string, { kind, targets }: PeerLoad): ReturnType<Peer["prepare"]> {
  const command = (target: string): string => {
    if (kind === "scripts") return target;
    const { hostname, port, pathname } = new URL(target);
    return `${CHECK_HTTP} -I ${hostname} -p ${port} -u ${pathname}`;
  };
  const define = (type: string, values: Readonly<Record<string, string | number>>): string =>
    `define ${type} {\n${Object.entries(values).map(([key, value]) => `  ${key} ${value}\n`).join("")}}\n`;
  const always = { check_period: "always", notification_period: "always", contacts: "nobody" };
  const objects = [
    define("timeperiod", {
      timeperiod_name: "always",
      alias: "always",
      ...Object.fromEntries(DAYS.map((day) => [day, "00:00-24:00"])),
    }),
    define("command", { command_name: "run", command_line: "$ARG1$" }),
    define("contact", {
      contact_name: "nobody",
      host_notification_period: "always",
      service_notification_period: "always",
      host_notification_commands: "run!/bin/true",
      service_notification_commands: "run!/bin/true",
    }),
    define("host", { host_name: "server", address: "127.0.0.1", max_check_attempts: 1, ...always }),
    ...targets.map((target, index) =>
      define("service", {
        host_name: "server",
        service_description: `check ${index}`,
        check_command: `run!${command(target)}`,
        check_interval: 1,
        retry_interval: 1,
        max_check_attempts: 3,
        ...always,
      })
    ),
  ];
  await Deno.mkdir(`${directory}/results`);
  await Deno.writeTextFile(`${directory}/objects.cfg`, objects.join(""));
  const path = `${directory}/nagios.cfg`;
  const settings = {
    cfg_file: `${directory}/objects.cfg`,
    log_file: `${directory}/nagios.log`,
    log_archive_path: directory,
    lock_file: `${directory}/pid`,
    object_cache_file: `${directory}/objects.cache`,
    status_file: `${directory}/status.dat`,
    state_retention_file: `${directory}/retention.dat`,
    check_result_path: `${directory}/results`,
    temp_file: `${directory}/temp`,
    temp_path: directory,
    query_socket: `${directory}/query.sock`,
    nagios_user: userInfo().username,
    // As in Debian's config.
    status_update_interval: 10,
    retain_state_information: 1,
    retention_update_interval: 60,
    // Seconds, so that an interval can be one.
    interval_length: 1,
    check_external_commands: 0,
    check_for_updates: 0,
    use_syslog: 0,
  };
  await Deno.writeTextFile(
    path,
    Object.entries(settings).map(([key, value]) => `${key}=${value}\n`).join(""),
  );
  return { Nagios: [NAGIOS, path] };
}

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
