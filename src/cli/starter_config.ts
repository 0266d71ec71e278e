/** What `monitor init` writes: valid and useful as it is on any Unix. A test keeps it so. */
export const STARTER_DOCUMENT = `// The config of monitor: what to look at, when, and whom to tell.
//   monitor validate       checks it for errors
//   monitor check --once   runs every check once
//   monitor explain        shows every setting and where it comes from
{
  // For completion and help in an editor: monitor schema > monitor.schema.json
  // "$schema": "./monitor.schema.json",

  // Further files with checks, relative to this one.
  // "include": ["conf.d/*.jsonc"],

  // Settings for every check that does not give its own.
  "defaults": {
    // A problem is notified once it was seen so many times in a row.
    "threshold": 3,
    "schedule": {
      // Whole seconds, or text such as "5 minutes" or "1 hour 30 minutes".
      "regular_interval": "5 minutes",
      // Used while something is wrong.
      "attentive_interval": "1 minute"
      // In place of the intervals, times of the calendar: "cron": "*/5 8-18 * * mon-fri", "time_zone": "Europe/Zurich"
    },
    // Every week at these times the checks run and no notification is sent.
    // "maintenance_windows": [{ "days": ["sun"], "from": "02:00", "to": "04:00", "time_zone": "Europe/Zurich" }],
    // Names from "channels" below.
    "notifications": ["terminal"]
  },

  // Where notifications go, by names of your choice. To try one: monitor notify --channel terminal
  "channels": {
    "terminal": { "kind": "console", "parameters": {} }
    // "admins": {
    //   "kind": "email",
    //   "parameters": {
    //     "access": {
    //       "host": "mail.example.org",
    //       "port": 587,
    //       "username": "monitor",
    //       // A secret is read from the environment or from a file: \${file:/etc/monitor/mail_password}
    //       "password": "\${env:MAIL_PASSWORD}"
    //     },
    //     "sender": "monitor@example.org",
    //     "receivers": ["admin@example.org"],
    //     "tags": ["production"]
    //   }
    // }
  },

  // A page for browsers that shows every check with its history, always fresh:
  // "report": { "path": "/var/cache/monitor/index.html" },
  // For Prometheus, by way of the node exporter's textfile collector:
  // "metrics": { "path": "/var/lib/prometheus/node-exporter/monitor.prom" },

  "checks": {
    // A program: exit code 0 is ok, 1 warning, 2 critical, 3 unknown. Monitoring plugins work as they are.
    "disk": {
      "title": "Root disk",
      "kind": "script",
      "parameters": {
        "path": "sh",
        "arguments": [
          "-c",
          "df -P / | awk 'NR == 2 { used = $5 + 0; print used \\"% of / used|used=\\" used \\"%;80;90\\"; exit used >= 90 ? 2 : used >= 80 }'"
        ]
      }
    },

    // The age of a file: a backup, a log, a heartbeat. A relative path starts at this config's directory.
    "temporary_files": {
      "title": "Temporary directory is in use",
      "kind": "file_timestamp",
      "parameters": { "path": "/tmp", "warning_age": "30 days", "critical_age": "90 days" }
    },

    // A request over the network. Remove "active" once the target is yours.
    "website": {
      "active": false,
      // Words to choose checks by: monitor check --tag web
      // "tags": ["web"],
      "title": "Website",
      "kind": "http_request",
      "parameters": {
        // "headers": { "Authorization": "Bearer \${env:API_TOKEN}" } goes beside "target".
        "request": { "target": "https://example.org/" },
        // Also: "status_code": "2xx", "json": { "$.status": "up" }, "warning_duration": "500 ms"
        "response": { "status_code": 200, "body_part": "Example Domain" }
      }
    },

    // A port that must answer, and a certificate that must not run out.
    // "database": { "kind": "tcp_connect", "parameters": { "host": "db.example.org", "port": 5432 } },
    // "certificate": { "kind": "tls_certificate", "parameters": { "host": "example.org", "warning_before_expiry": "14 days" } },
    // A job that reports itself: "monitor beat backup -- COMMAND" stands in the crontab in place of COMMAND.
    // "backup": {
    //   "kind": "job",
    //   "parameters": { "expected_every": "1 day", "grace": "1 hour", "duration_max": "2 hours" }
    // },

    // Always the same: for trying out thresholds and channels.
    "example": {
      "kind": "test",
      "parameters": { "condition": "ok", "output": "this check always says so" }
    }
  }
}
`;
