import { CHECK_KINDS } from "./kind_names.ts";

// Lists of the schema that many messages repeat.
const INTERVAL = 'whole seconds from 1 on, or text such as "5 minutes" or "1 h 30 min"';
const TOP_KEYS =
  "$schema, include, defaults, state, heartbeat, maintenance_windows, report, page, metrics, listen, channels, summary, checks";
const DEFAULTS_KEYS =
  "tags, active, threshold, recovery_threshold, within, flapping, reminders, schedule, maintenance_windows, objective, locations, notifications";
const CRON = "expected minute, hour, day of the month, month and day of the week, " +
  'such as "*/5 8-18 * * mon-fri", or a name such as @daily';

/**
 * The exact errors of each `testdata/invalid_<name>.jsonc`: the messages that a user reads whose config does not
 * load. Each is `line:column path: message → hint`; a first one without a place is the error's own message.
 */
export const INVALID_DOCUMENTS: Readonly<Record<string, string | readonly string[]>> = {
  include_double_star:
    '2:15 include[0]: "conf.d/**/x.jsonc" contains "**", expected * for characters of one name → write each level, such as conf.d/*/*.jsonc',
  include_secret: '2:14 include: "${env:PORT}.jsonc" contains a placeholder, expected plain text',
  include_type: "2:14 include: is an object, expected a list or a string",
  address_variable:
    '8:21 defaults.notifications[0].parameters.sender: "$FROM" is not an email address, expected one such as admin@example.org → write ${env:FROM}',
  annoy_null: `6:16 checks.web.annoy: is null, expected true, false, or ${INTERVAL}`,
  defaults_missing: '1:1: missing key "defaults", "defaults": {} is enough',
  host_with_port:
    '4:62 defaults.notifications[0].parameters.access.host: "mail.example.org:587" contains a port, expected only the host → write it in "port"',
  json_breaks_off:
    '3:1: unexpected end of the config, expected a key in double quotes or } → "defaults" is not closed',
  json_two_commas_missing: [
    '2:32: unexpected "annoy", expected a comma → put a comma after the value before it',
    '3:3: unexpected "checks", expected a comma → put a comma after the value before it',
  ],
  kind_missing: `4:12 checks.web: missing key "kind", expected one of ${CHECK_KINDS}`,
  many: [
    `2:17 defaults.treshold: unknown key "treshold", expected one of ${DEFAULTS_KEYS} → did you mean "threshold"?`,
    `2:66 defaults.schedule.regular_interval: "soon" has the unknown unit "soon", expected ${INTERVAL}`,
    `4:20 checks.a.kind: is "tset", expected one of ${CHECK_KINDS} → did you mean "test"?`,
    '5:81 checks["my site"].parameters.request.target: the URL "nowhere" has no scheme, expected one that begins with http:// or https:// → did you mean "https://nowhere"?',
    '5:123 checks["my site"].parameters.response.status_code: is 1, expected 100 to 599',
    '6:44 checks.c.parameters: missing key "path"',
    "6:59 checks.c.parameters.arguments: is 3, expected a list",
  ],
  misplaced_schedule:
    `3:3 schedule: unknown key "schedule", expected one of ${TOP_KEYS} → move it into "defaults"`,
  not_an_object: "1:1: the config is a list, expected an object",
  receivers_empty:
    "9:24 defaults.notifications[0].parameters.receivers: is an empty list, expected at least one entry",
  secret_at_the_top:
    '1:1: the config is the string "${env:MONITOR_TEST_UNSET}", expected an object → a placeholder is always a string',
  secret_not_an_address:
    '6:46 checks.web.parameters.request.target: "${env:PORT}:${file:secret.txt}" is not a URL, expected one such as https://example.org/health',
  status_code_text:
    '6:98 checks.web.parameters.response.status_code: "200" is not a status, expected a code from 100 to 599 or a class such as "2xx" → write 200 without quotes',
  threshold_infinite:
    '6:20: "1e999" has too many digits for a number, it would be Infinity → write fewer digits; search for a long number with "body_part"',
  unknown_channel_key:
    '4:46 defaults.notifications[0].name: unknown key "name", expected one of kind, parameters, channel, conditions, events, after, hours, outside_hours, fallback, at_most',
  unknown_kind_far:
    `4:22 checks.web.kind: is "snmp", expected one of ${CHECK_KINDS} → write "script" to run check_snmp`,
  utf8: [
    'cannot use config "./invalid_utf8.jsonc": it is not UTF-8 → save it as UTF-8',
    "3:19: byte 0xe9 is not valid UTF-8, expected a config in UTF-8",
  ],
  wrong_type_notifications:
    "2:34 defaults.notifications: is an object, expected a list → put it in brackets: [ … ]",
  cron_and_interval:
    '6:21 checks.web.schedule.cron: cannot be used with "regular_interval" → add "attentive_interval" to "cron" for more runs while a check fails',
  cron_day:
    `6:29 checks.web.schedule.cron: "0 0 32 * *" is not a cron expression (its day of the month is 32, expected 1 to 31), ${CRON}`,
  cron_seconds:
    `6:29 checks.web.schedule.cron: "0 */5 * * * *" has 6 fields, ${CRON} → remove the first field: there are no seconds`,
  time_zone_alone:
    '6:45 checks.web.schedule.time_zone: has no effect with "regular_interval", expected it with "cron" only',
  time_zone_unknown:
    '6:52 checks.web.schedule.time_zone: "Europe/Zurick" is not a time zone, expected a name such as "Europe/Zurich" or "UTC" → did you mean "Europe/Zurich"?',
  window_of_no_time:
    '6:56 checks.web.maintenance_windows[0].to: is "03:00" as "from" is, expected another time → for whole days: from "00:00" to "24:00"',
  window_time: [
    '6:41 checks.web.maintenance_windows[0].from: "24:00" is not a time of day, expected one from "00:00" to "23:59"',
    '6:56 checks.web.maintenance_windows[0].to: "6:00" is not a time of day, expected one from "00:00" to "24:00"',
  ],
};
