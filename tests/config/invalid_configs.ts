import { CHECK_KINDS } from "./kind_names.ts";

// Lists of the schema that many messages repeat.
const INTERVAL = 'whole seconds from 1 on, or text such as "5 minutes" or "1 h 30 min"';
const VALUE = "a string in double quotes, a number, true, false, null, { or [";
const CHANNEL_KINDS = '"console", "file_touch", "email", "desktop_notification", "webhook", "command"';
const TOP_KEYS =
  "$schema, include, defaults, state, heartbeat, maintenance_windows, report, page, metrics, listen, channels, summary, checks";
const DEFAULTS_KEYS =
  "tags, active, threshold, recovery_threshold, within, flapping, annoy, schedule, maintenance_windows, objective, locations, notifications";
const CRON = "expected minute, hour, day of the month, month and day of the week, " +
  'such as "*/5 8-18 * * mon-fri", or a name such as @daily';
const CHECK_KEYS = `title, ${DEFAULTS_KEYS}, depends_on, for_each, timeout, kind, parameters`;

/**
 * The exact errors of each `testdata/invalid_<name>.jsonc`: the messages that a user reads whose config does not
 * load. Each is `line:column path: message → hint`; a first one without a place is the error's own message.
 */
export const INVALID_DOCUMENTS: Readonly<Record<string, string | readonly string[]>> = {
  kind_misspelt:
    `4:14 checks.web.knid: unknown key "knid", expected one of ${CHECK_KEYS} → did you mean "kind"?`,
  include_double_star:
    '2:15 include[0]: "conf.d/**/x.jsonc" contains "**", expected * for characters of one name → write each level, such as conf.d/*/*.jsonc',
  include_empty: "2:14 include: is empty, expected some text",
  include_missing: '2:14 include: cannot read config "./no_such_file.jsonc": file does not exist',
  include_secret: '2:14 include: "${env:PORT}.jsonc" contains a placeholder, expected plain text',
  include_type: "2:14 include: is an object, expected a list or a string",
  include_itself:
    '2:14 include: is a cycle: "./invalid_include_itself.jsonc" includes "./invalid_include_itself.jsonc"',
  tag_empty: "4:62 checks.web.tags[1]: is empty, expected some text",
  tag_type: '4:56 checks.web.tags: is the string "a", expected a list → put it in brackets: ["a"]',
  tag_secret: '2:26 defaults.tags[0]: "${env:PORT}" contains a placeholder, expected plain text',
  address:
    '8:21 defaults.notifications[0].parameters.sender: "monitor" is not an email address, expected one such as admin@example.org',
  address_variable:
    '8:21 defaults.notifications[0].parameters.sender: "$FROM" is not an email address, expected one such as admin@example.org → write ${env:FROM}',
  age_fraction: `6:54 checks.web.parameters.warning_age: is 0.5, expected ${INTERVAL}`,
  age_text: `6:54 checks.web.parameters.warning_age: "1.5 h" has a fraction, expected ${INTERVAL}`,
  annoy_null: `6:16 checks.web.annoy: is null, expected true, false, or ${INTERVAL}`,
  annoy_text: `6:16 checks.web.annoy: "often" has the unknown unit "often", expected ${INTERVAL}`,
  attentive_interval:
    `6:67 checks.web.schedule.attentive_interval: "5 mins" has the unknown unit "mins" (did you mean "minutes"?), expected ${INTERVAL}`,
  channel_without_kind: '4:7 defaults.notifications[0]: missing key "kind" or "channel"',
  channel_without_parameters: '4:7 defaults.notifications[0]: missing key "parameters"',
  condition:
    '4:59 checks.web.parameters.condition: is "critcal", expected one of "unknown", "ok", "warning", "critical" → did you mean "critical"?',
  critical_age_zero: `6:52 checks.web.parameters.critical_age: is 0, expected ${INTERVAL}`,
  defaults_missing: '1:1: missing key "defaults", "defaults": {} is enough',
  duplicate_check:
    '5:5 checks.web: the name "web" is specified more than once in one object → rename or remove one of them',
  duplicate_in_duplicate: [
    '5:5 checks.web: the name "web" is specified more than once in one object → rename or remove one of them',
    '5:30 checks.web.kind: the name "kind" is specified more than once in one object → rename or remove one of them',
  ],
  duplicate_key:
    '6:23 checks.web.threshold: the name "threshold" is specified more than once in one object → rename or remove one of them',
  email_access_incomplete: [
    '4:52 defaults.notifications[0].parameters.access: missing key "username"',
    '4:52 defaults.notifications[0].parameters.access: missing key "password"',
  ],
  empty: "1:1: the config is empty, expected an object",
  environment_name:
    '6:61 checks.web.parameters.environment["A=B"]: "A=B" cannot be a name here, expected a variable name without =',
  expected_every_missing: '6:21 checks.web.parameters: missing key "expected_every"',
  expected_every_zero: `6:41 checks.web.parameters.expected_every: is 0, expected ${INTERVAL}`,
  file_touch_without_path: '4:45 defaults.notifications[0].parameters: missing key "path"',
  groups:
    "3:3 groups: is not a key: the specification names it as required without defining it, so it has no meaning here → remove it",
  header_name:
    '6:96 checks.web.parameters.response.headers["a b"]: "a b" cannot be a name here, expected a header name: letters, digits and signs such as - and _',
  host:
    '7:31 defaults.notifications[0].parameters.access.host: "smtp://h" is not a host, expected a name or IP address',
  host_with_port:
    '4:62 defaults.notifications[0].parameters.access.host: "mail.example.org:587" contains a port, expected only the host → write it in "port"',
  interval_fraction: `6:41 checks.web.schedule.regular_interval: is 0.5, expected ${INTERVAL}`,
  interval_missing: '6:19 checks.web.schedule: missing key "regular_interval" or "cron"',
  interval_negative: `6:41 checks.web.schedule.regular_interval: is -60, expected ${INTERVAL}`,
  interval_null: `6:41 checks.web.schedule.regular_interval: is null, expected ${INTERVAL}`,
  interval_number_too_long:
    "6:41 checks.web.schedule.regular_interval: 3153600001 is longer than a hundred years, expected at most that",
  interval_text_empty: `6:41 checks.web.schedule.regular_interval: "" is empty, expected ${INTERVAL}`,
  interval_text_fraction:
    `6:41 checks.web.schedule.regular_interval: "1.5 hours" has a fraction, expected ${INTERVAL}`,
  interval_text_no_unit:
    `6:41 checks.web.schedule.regular_interval: "90" has a count without a unit, expected ${INTERVAL}`,
  interval_text_sign:
    `6:41 checks.web.schedule.regular_interval: "-5 minutes" has a sign, expected ${INTERVAL}`,
  interval_text_unit:
    `6:41 checks.web.schedule.regular_interval: "2 fortnights" has the unknown unit "fortnights", expected ${INTERVAL}`,
  interval_text_zero:
    `6:41 checks.web.schedule.regular_interval: "0 minutes" has a count of zero, expected ${INTERVAL}`,
  interval_too_long:
    '6:41 checks.web.schedule.regular_interval: "6000 weeks" is longer than a hundred years, expected at most that',
  interval_zero: `6:41 checks.web.schedule.regular_interval: is 0, expected ${INTERVAL}`,
  json_backslash_before_quote:
    '3:66: "C:\\scripts\\" } } } is an unterminated string, expected " before the end of the line → a backslash makes the " after it part of the text: write \\\\ for a backslash',
  json_bad_escape:
    '1:33: \\q is not an escape, expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX → write \\\\ for a backslash',
  json_bad_unicode_escape: "1:35: \\u00e is not an escape, expected \\u and four hexadecimal digits",
  json_breaks_off:
    '3:1: unexpected end of the config, expected a key in double quotes or } → "defaults" is not closed',
  json_colon_missing: '2:14: unexpected "{", expected a colon',
  json_control_character: "1:33: a tab is not allowed in a string, expected the escape \\t",
  json_curly_quotes:
    '2:3: "“defaults”" is not a key, expected one in double quotes → JSON knows only the straight double quote: "',
  json_extra_brace: '4:1: unexpected "}" after the end of the config',
  json_extra_text: '2:1: unexpected "more" after the end of the config',
  json_hash_comment: `1:1: "#" is not a JSON value, expected ${VALUE} → a comment begins with //`,
  json_leading_zero: `2:30: "03" is not a JSON value, expected ${VALUE}`,
  json_list_breaks_off: '2:75: unexpected "}", expected a comma or ]',
  json_missing_comma: '3:3: unexpected "checks", expected a comma → put a comma after the value before it',
  json_no_break_space:
    "2:2: character U+00A0 is not a key, expected one in double quotes → replace it with a space",
  json_nul: "1:19: unexpected character U+0000 after the end of the config",
  json_number_breaks_off: '2:30: "1." is a number that breaks off, expected a digit after it',
  json_number_with_unit:
    `2:51: "10s" is not a JSON value, expected ${VALUE} → a text needs double quotes: "10s"`,
  json_open_comment: "2:1: this comment is not terminated, expected */",
  json_python_literal: `2:27: "True" is not a JSON value, expected ${VALUE} → write true, false or null`,
  json_single_quotes:
    `2:3: 'defaults' is not a key, expected one in double quotes → JSON knows only the straight double quote: "`,
  json_two_commas: '2:18: unexpected ",", expected a key in double quotes or }',
  json_two_commas_missing: [
    '2:32: unexpected "annoy", expected a comma → put a comma after the value before it',
    '3:3: unexpected "checks", expected a comma → put a comma after the value before it',
  ],
  json_unquoted_name: '2:3: "defaults" is not a key, expected one in double quotes → write "defaults"',
  json_unterminated_string:
    '3:3: "checks: {} is an unterminated string, expected " before the end of the line',
  json_value_missing: '3:1: unexpected "}", expected a value',
  kind_missing: `4:12 checks.web: missing key "kind", expected one of ${CHECK_KINDS}`,
  kind_wrong_type: `4:22 checks.web.kind: is 1, expected one of ${CHECK_KINDS}`,
  many: [
    `2:17 defaults.treshold: unknown key "treshold", expected one of ${DEFAULTS_KEYS} → did you mean "threshold"?`,
    `2:66 defaults.schedule.regular_interval: "soon" has the unknown unit "soon", expected ${INTERVAL}`,
    `4:20 checks.a.kind: is "tset", expected one of ${CHECK_KINDS} → did you mean "test"?`,
    '5:81 checks["my site"].parameters.request.target: the URL "nowhere" has no scheme, expected one that begins with http:// or https:// → did you mean "https://nowhere"?',
    '5:123 checks["my site"].parameters.response.status_code: is 1, expected 100 to 599',
    '6:44 checks.c.parameters: missing key "path"',
    "6:59 checks.c.parameters.arguments: is 3, expected a list",
  ],
  method:
    '6:77 checks.web.parameters.request.method: is "get", expected one of "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" → did you mean "GET"?',
  method_unknown:
    '6:77 checks.web.parameters.request.method: is "DANCE", expected one of "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"',
  misplaced_parameter:
    `6:7 checks.web.path: unknown key "path", expected one of ${CHECK_KEYS} → move it into "parameters"`,
  misplaced_schedule:
    `3:3 schedule: unknown key "schedule", expected one of ${TOP_KEYS} → move it into "defaults"`,
  misplaced_setting:
    '6:23 checks.web.parameters.threshold: unknown key "threshold", expected one of condition, output → move it one level up, next to "parameters"',
  misplaced_status_code:
    '6:69 checks.web.parameters.status_code: unknown key "status_code", expected one of request, response, steps, as_warning → move it into "response"',
  nested_ten_thousand_deep: "1:101: the config is nested more than 100 levels deep",
  nested_too_deep: "1:114: the config is nested more than 100 levels deep",
  not_an_object: "1:1: the config is a list, expected an object",
  nul_in_path: '6:31 checks.web.parameters.path: "a\\u0000b" contains a NUL character, expected none',
  only_comment: "1:1: the config contains only comments, expected an object",
  parameters_missing: '4:12 checks.web: missing key "parameters"',
  path_missing: '6:21 checks.web.parameters: missing key "path"',
  port_range: "7:44 defaults.notifications[0].parameters.access.port: is 70000, expected 1 to 65535",
  program_empty: "6:31 checks.web.parameters.path: is empty, expected some text",
  receiver:
    '4:167 defaults.notifications[0].parameters.receivers[1]: "Ops <ops@b.example>" is not an email address, expected one such as admin@example.org',
  receivers_empty:
    "9:24 defaults.notifications[0].parameters.receivers: is an empty list, expected at least one entry",
  recovery_threshold_zero: "6:29 checks.web.recovery_threshold: is 0, expected 1 or more",
  secret_at_the_top:
    '1:1: the config is the string "${env:MONITOR_TEST_UNSET}", expected an object → a placeholder is always a string',
  secret_file_unnamed:
    '6:72 checks.web.parameters.environment.TOKEN: "${file:}" names no file, expected a path',
  secret_for_number:
    '7:44 defaults.notifications[0].parameters.access.port: is the string "${env:PORT}", expected a whole number → a placeholder is always a string',
  secret_not_an_address:
    '6:46 checks.web.parameters.request.target: "${env:PORT}:${file:secret.txt}" is not a URL, expected one such as https://example.org/health',
  secret_variable_name:
    '6:58 checks.web.parameters.arguments[0]: "${env:A-B}" names no variable, expected letters, digits and _',
  secret_variable_unnamed:
    '6:72 checks.web.parameters.environment.TOKEN: "${env:}" names no variable, expected letters, digits and _',
  report_is_config:
    "3:23 report.path: is this config itself, expected a file of its own because it is overwritten",
  report_is_state:
    '4:23 report.path: is the file of "state" (./invalid_report_is_state.jsonc:3:12), expected a file of its own because it is overwritten',
  report_path_missing: '3:13 report: missing key "path"',
  state_empty: "3:12 state: is empty, expected some text",
  status_code_range: "6:98 checks.web.parameters.response.status_code: is 42, expected 100 to 599",
  status_code_text:
    '6:98 checks.web.parameters.response.status_code: "200" is not a status, expected a code from 100 to 599 or a class such as "2xx" → write 200 without quotes',
  target_missing: '6:34 checks.web.parameters.request: missing key "target"',
  threshold_fraction: "6:20 checks.web.threshold: is 1.5, expected a whole number",
  threshold_infinite:
    '6:20: "1e999" has too many digits for a number, it would be Infinity → write fewer digits; search for a long number with "body_part"',
  threshold_negative: "6:20 checks.web.threshold: is -1, expected 1 or more",
  threshold_zero: "6:20 checks.web.threshold: is 0, expected 1 or more",
  timeout_zero: `6:18 checks.web.timeout: is 0, expected ${INTERVAL}`,
  unknown_channel_kind:
    `4:17 defaults.notifications[0].kind: is "emial", expected one of ${CHANNEL_KINDS} → did you mean "email"?`,
  unknown_channel_key:
    '4:46 defaults.notifications[0].name: unknown key "name", expected one of kind, parameters, channel, conditions, events, after, hours, outside_hours, fallback, at_most',
  unknown_check_key:
    `6:7 checks.web.titel: unknown key "titel", expected one of ${CHECK_KEYS} → did you mean "title"?`,
  unknown_console_parameter:
    '4:44 defaults.notifications[0].parameters.color: unknown key "color", expected no keys here',
  unknown_defaults_key:
    `2:17 defaults.treshold: unknown key "treshold", expected one of ${DEFAULTS_KEYS} → did you mean "threshold"?`,
  unknown_desktop_notification_parameter:
    '4:57 defaults.notifications[0].parameters.image: unknown key "image", expected only icon',
  unknown_email_access_key:
    '7:99 defaults.notifications[0].parameters.access.user: unknown key "user", expected one of host, port, username, password',
  unknown_email_parameter:
    '4:42 defaults.notifications[0].parameters.to: unknown key "to", expected one of access, sender, receivers, tags → remove it: "receivers" is there already',
  unknown_file_timestamp_parameter:
    '6:39 checks.web.parameters.critical: unknown key "critical", expected one of path, newest_of, size_min, count_min, warning_age, critical_age, condition_on_missing, condition_on_implausible → did you mean "critical_age"?',
  unknown_file_touch_parameter:
    '4:65 defaults.notifications[0].parameters.mode: unknown key "mode", expected only path',
  unknown_http_request_parameter:
    '6:69 checks.web.parameters.asWarning: unknown key "asWarning", expected one of request, response, steps, as_warning → did you mean "as_warning"?',
  unknown_job_parameter:
    '6:45 checks.web.parameters.gracee: unknown key "gracee", expected one of expected_every, grace, ping_key, duration_max, condition_on_failure, condition_on_overdue, condition_on_long_run → did you mean "grace"?',
  unknown_kind:
    `4:22 checks.web.kind: is "http_requst", expected one of ${CHECK_KINDS} → did you mean "http_request"?`,
  unknown_kind_far:
    `4:22 checks.web.kind: is "snmp", expected one of ${CHECK_KINDS} → write "script" to run check_snmp`,
  unknown_request_key:
    '6:67 checks.web.parameters.request.url: unknown key "url", expected one of target, method, headers, body, redirects, socket, connect_to, every_address, tls → remove it: "target" is there already',
  unknown_response_key:
    '6:83 checks.web.parameters.response.status: unknown key "status", expected one of status_code, headers, body_part, not_body_part, body_pattern, not_body_pattern, json, warning_duration, critical_duration, certificate → did you mean "status_code"?',
  unknown_schedule_key:
    '6:45 checks.web.schedule.interval: unknown key "interval", expected one of regular_interval, attentive_interval, cron, time_zone → did you mean "attentive_interval"?',
  unknown_script_parameter:
    '6:44 checks.web.parameters.args: unknown key "args", expected one of path, arguments, environment, condition_on_timeout, exit_code_conditions, output_part, output_pattern, value, performance_data_ranges, condition_on_mismatch → did you mean "arguments"?',
  unknown_test_parameter:
    '6:23 checks.web.parameters.conditon: unknown key "conditon", expected one of condition, output → did you mean "condition"?',
  unknown_top_key: `3:3 cheks: unknown key "cheks", expected one of ${TOP_KEYS} → did you mean "checks"?`,
  url_not_an_address:
    '6:46 checks.web.parameters.request.target: "http://" is not a URL, expected one such as https://example.org/health',
  url_scheme:
    '6:46 checks.web.parameters.request.target: the URL "ftp://example.org/" has the scheme "ftp:", expected one that begins with http:// or https://',
  url_space:
    '6:46 checks.web.parameters.request.target: "http://my host/" is not a URL, expected one such as https://example.org/health',
  url_without_scheme:
    '6:46 checks.web.parameters.request.target: the URL "example.org/health" has no scheme, expected one that begins with http:// or https:// → did you mean "https://example.org/health"?',
  utf16:
    'cannot read config "./invalid_utf16.jsonc": it is UTF-16, expected UTF-8 → convert it: iconv -f UTF-16LE -t UTF-8 ./invalid_utf16.jsonc',
  utf16_big_endian:
    'cannot read config "./invalid_utf16_big_endian.jsonc": it is UTF-16, expected UTF-8 → convert it: iconv -f UTF-16BE -t UTF-8 ./invalid_utf16_big_endian.jsonc',
  utf16_with_mark:
    'cannot read config "./invalid_utf16_with_mark.jsonc": it is UTF-16, expected UTF-8 → convert it: iconv -f UTF-16 -t UTF-8 ./invalid_utf16_with_mark.jsonc',
  utf16_with_mark_big_endian:
    'cannot read config "./invalid_utf16_with_mark_big_endian.jsonc": it is UTF-16, expected UTF-8 → convert it: iconv -f UTF-16 -t UTF-8 ./invalid_utf16_with_mark_big_endian.jsonc',
  utf8: [
    'cannot use config "./invalid_utf8.jsonc": it is not UTF-8 → save it as UTF-8',
    "3:19: byte 0xe9 is not valid UTF-8, expected a config in UTF-8",
  ],
  utf8_breaks_off: [
    'cannot use config "./invalid_utf8_breaks_off.jsonc": it is not UTF-8 → save it as UTF-8',
    "4:7: byte 0xc3 is not valid UTF-8, expected a config in UTF-8",
  ],
  warning_age_zero: `6:51 checks.web.parameters.warning_age: is 0, expected ${INTERVAL}`,
  wrong_type_active: '6:17 checks.web.active: is the string "yes", expected true or false',
  wrong_type_argument: "6:64 checks.web.parameters.arguments[1]: is 10, expected a string",
  wrong_type_arguments:
    '6:57 checks.web.parameters.arguments: is the string "-v", expected a list → put it in brackets: ["-v"]',
  wrong_type_as_warning:
    '6:83 checks.web.parameters.as_warning: is the string "true", expected true or false → write true without quotes',
  wrong_type_check: '4:12 checks.web: is the string "http_request", expected an object',
  wrong_type_checks: "1:29 checks: is a list, expected an object",
  wrong_type_defaults: "1:15 defaults: is null, expected an object",
  wrong_type_header:
    "6:107 checks.web.parameters.response.headers.X-Count: is 1, expected a string or an object",
  wrong_type_notifications:
    "2:34 defaults.notifications: is an object, expected a list → put it in brackets: [ … ]",
  wrong_type_parameters: "6:21 checks.web.parameters: is a list, expected an object",
  wrong_type_receivers:
    '4:151 defaults.notifications[0].parameters.receivers: is the string "a@b.example", expected a list → put it in brackets: ["a@b.example"]',
  wrong_type_threshold_text:
    '6:20 checks.web.threshold: is the string "3", expected a whole number → write 3 without quotes',
  wrong_type_title: "6:16 checks.web.title: is 7, expected a string",
  cron_and_interval:
    '6:21 checks.web.schedule.cron: cannot be used with "regular_interval" → add "attentive_interval" to "cron" for more runs while a check fails',
  cron_day:
    `6:29 checks.web.schedule.cron: "0 0 32 * *" is not a cron expression (its day of the month is 32, expected 1 to 31), ${CRON}`,
  cron_field:
    `6:29 checks.web.schedule.cron: "0 25 * * *" is not a cron expression (its hour is 25, expected 0 to 23), ${CRON}`,
  cron_never: '6:29 checks.web.schedule.cron: "0 0 30 2 *" never matches a time',
  cron_seconds:
    `6:29 checks.web.schedule.cron: "0 */5 * * * *" has 6 fields, ${CRON} → remove the first field: there are no seconds`,
  time_zone_alone:
    '6:45 checks.web.schedule.time_zone: has no effect with "regular_interval", expected it with "cron" only',
  time_zone_unknown:
    '6:52 checks.web.schedule.time_zone: "Europe/Zurick" is not a time zone, expected a name such as "Europe/Zurich" or "UTC" → did you mean "Europe/Zurich"?',
  time_zone_city:
    '6:52 checks.web.schedule.time_zone: "New York" is not a time zone, expected a name such as "Europe/Zurich" or "UTC" → did you mean "America/New_York"?',
  window_day:
    '6:42 checks.web.maintenance_windows[0].days[0]: is "saturday", expected one of "mon", "tue", "wed", "thu", "fri", "sat", "sun"',
  window_of_no_time:
    '6:56 checks.web.maintenance_windows[0].to: is "03:00" as "from" is, expected another time → for whole days: from "00:00" to "24:00"',
  window_time: [
    '6:41 checks.web.maintenance_windows[0].from: "24:00" is not a time of day, expected one from "00:00" to "23:59"',
    '6:56 checks.web.maintenance_windows[0].to: "6:00" is not a time of day, expected one from "00:00" to "24:00"',
  ],
  window_without_end: '6:31 checks.web.maintenance_windows[0]: missing key "to"',
};
