import { type Command, EXIT, option } from "../command_definition.ts";
import { writeNew } from "../failure.ts";
import { printable } from "../../shared/text.ts";

export const initCommand: Command = {
  name: "init",
  group: "start",
  summary: "write a starter config",
  operands: "[PATH]",
  description:
    "Writes a starter config with comments to PATH (default: ./monitor.jsonc). It is valid and runs unchanged.",
  page: "start/tutorial.md",
  options: [option("--force", "overwrite of an existing file")],
  examples: [
    ["monitor init", "write ./monitor.jsonc"],
    ["monitor init /etc/monitor/monitor.jsonc", "write the config of a service"],
  ],
  uses: ["read", "write", "env"],
  endings: ["done", "permission"],
  run: async (invocation, system) => {
    const path = invocation.operands[0] ?? "monitor.jsonc";
    await writeNew(path, STARTER_CONFIG, { ...system, overwrite: invocation.has("force") });
    const config = path === "monitor.jsonc" ? "" : ` -c ${printable(path)}`;
    system.stdout.write(
      `wrote ${printable(path)}\nrun every check once with: monitor check --once${config}\n` +
        `start the service, with its page at http://${STARTER_ADDRESS}/, with: monitor check${config}\n`,
    );
    return EXIT.ok;
  },
};

export const STARTER_ADDRESS = "127.0.0.1:9797";

const SETTINGS = `// The config of monitor: checks, their schedules and notifications.
//   monitor validate       prints errors
//   monitor check --once   runs every check once
//   monitor explain        shows every setting and where it comes from
{
  // Completion in an editor: monitor schema > monitor.schema.json
  // "$schema": "./monitor.schema.json",

  // Further config files, relative to this one.
  // "include": ["conf.d/*.jsonc"],

  // Defaults of every check.
  "defaults": {
    // Results in a row until a problem is confirmed and notified.
    "threshold": 3,
    "schedule": {
      // Whole seconds, or text such as "5 minutes" or "1 hour 30 minutes".
      "regular_interval": "5 minutes",
      // The shorter interval while a check fails.
      "attentive_interval": "1 minute"
      // Or a cron schedule: "cron": "*/5 8-18 * * mon-fri", "time_zone": "Europe/Zurich"
    },
    // Weekly times without notifications; checks run all the same.
    // "maintenance_windows": [{ "days": ["sun"], "from": "02:00", "to": "04:00", "time_zone": "Europe/Zurich" }],
    // Names from "channels" below.
    "notifications": ["terminal"]
  },

  // Where notifications go. Test one: monitor notify terminal
  "channels": {
    "terminal": { "kind": "console", "parameters": {} }
    // Also: "teams", "discord", "telegram", "ntfy", "gotify", "pushover", "pagerduty", "opsgenie", "matrix", "mattermost".
    // "chat": { "kind": "slack", "parameters": { "url": "\${env:SLACK_URL}" } },
    // "admins": {
    //   "kind": "email",
    //   "parameters": {
    //     "access": {
    //       "host": "mail.example.org",
    //       "port": 587,
    //       "username": "monitor",
    //       // A secret from the environment, or from a file: \${file:/etc/monitor/mail_password}
    //       "password": "\${env:MAIL_PASSWORD}"
    //     },
    //     "sender": "monitor@example.org",
    //     "receivers": ["admin@example.org"],
    //     "tags": ["production"]
    //   }
    // }
  },

  // The live page of the service that "monitor check" starts: http://${STARTER_ADDRESS}/
  "listen": { "address": "${STARTER_ADDRESS}" },

  // An HTML report in a file, updated every minute:
  // "report": { "path": "/var/cache/monitor/index.html" },
  // Metrics for the textfile collector of the node exporter:
  // "metrics": { "path": "/var/lib/prometheus/node-exporter/monitor.prom" },

`;

export const EMPTY_CONFIG = `${SETTINGS}  "checks": {}\n}\n`;

/** The config of `monitor init`: valid and useful as it is on any Unix. A test proves it. */
export const STARTER_CONFIG = `${SETTINGS}  "checks": {
    // Free space and inodes of a file system. "memory" and "load" check the machine in the same way.
    "disk": {
      "title": "Root disk",
      "kind": "disk_space",
      "parameters": { "path": "/", "free": { "warning_below": "10%", "critical_below": "5%" } }
    },

    // A process, and a unit of systemd.
    // "nginx": { "kind": "process", "parameters": { "name": "nginx" } },
    // "nginx_unit": { "kind": "systemd_unit", "parameters": { "unit": "nginx.service" } },

    // A command: exit code 0 is ok, 1 warning, 2 critical, 3 unknown. Monitoring Plugins work unchanged.
    // "updates": { "kind": "script", "parameters": { "path": "/usr/lib/nagios/plugins/check_apt" } },

    // The age of a file: a backup, a log, a heartbeat. A relative path starts at this config's directory.
    "temporary_files": {
      "title": "Temporary directory is in use",
      "kind": "file_timestamp",
      "parameters": { "path": "/tmp", "warning_age": "30 days", "critical_age": "90 days" }
    },

    // An HTTP request. Change the target and remove "active".
    "website": {
      "active": false,
      // Tags select checks: monitor check --tag web
      // "tags": ["web"],
      "title": "Website",
      "kind": "http_request",
      "parameters": {
        // "headers": { "Authorization": "Bearer \${env:API_TOKEN}" } is a key of "request".
        "request": { "target": "https://example.org/" },
        // Also: "status_code": "2xx", "json": { "$.status": "up" }, "warning_duration": "500 ms"
        "response": { "status_code": 200, "body_part": "Example Domain" }
      }
    },

    // A TCP port, and the time until a certificate expires.
    // "database": { "kind": "tcp_connect", "parameters": { "host": "db.example.org", "port": 5432 } },
    // "certificate": { "kind": "tls_certificate", "parameters": { "host": "example.org", "warning_before_expiry": "14 days" } },
    // A cron job that checks in: run "monitor beat backup -- COMMAND" in the crontab.
    // "backup": {
    //   "kind": "job",
    //   "parameters": { "expected_every": "1 day", "grace": "1 hour", "duration_max": "2 hours" }
    // },

    // A fixed result, to test thresholds and channels.
    "example": {
      "kind": "test",
      "parameters": { "condition": "ok", "output": "the config sets this result" }
    }
  }
}
`;
