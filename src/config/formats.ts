import {
  ANY_VALUE,
  bodyRuleOf,
  CHOOSING_FIELDS,
  fillTemplate,
  FILTER_FORMS,
  hasFields,
  onlyFieldOf,
  SAMPLE_FIELDS,
  TEMPLATE_FIELDS,
  unknownFields,
  unknownFilters,
} from "../shared/template.ts";
import type { System } from "../domain/system.ts";
import { canonicalAddress, parseListenAddress } from "../shared/ip_address.ts";
import {
  DURATION_FORMS,
  INTERVAL_FORMS,
  LIMIT_FORMS,
  type LimitFormat,
  MESSAGE_LIMIT_FORMS,
  minuteOfDay,
  OBJECTIVE_FORMS,
  parseDuration,
  parseInterval,
  parseLimit,
  parseMessageLimit,
  parseObjective,
  parseRetention,
  parseSize,
  RETENTION_FORMS,
  SIZE_FORMS,
} from "./quantities.ts";
import { parseDatabaseHost } from "./postgres_settings.ts";
import { hideInAddress } from "./credentials.ts";
import { didYouMean, nearest } from "./nearest.ts";
import { parseRange } from "../shared/decimal.ts";
import { holdsSecret } from "./placeholders.ts";
import { isUnit } from "../shared/unit_name.ts";
import { type Problem, quoteValue } from "./problem.ts";
import { childOf, type FormattedValue, isObject, type Schema, type SchemaReader } from "./schema_view.ts";
import { type JsonValue, parseText } from "./syntax.ts";

export interface FormattedConfig {
  /** With its placeholders replaced; a text whose placeholders have no value stays as written. */
  readonly value: JsonValue;
  readonly written: JsonValue;
  readonly reader: SchemaReader;
}

/** Visits values and free names that have a format, in the config's order. Skips those of an invalid structure. */
export function visitFormattedValues(
  { value, written, reader }: FormattedConfig,
  visit: (item: FormattedValue) => void,
): void {
  const path: (string | number)[] = [];
  const walk = (here: JsonValue, shown: JsonValue | undefined, schema: Schema, parent?: JsonValue): void => {
    const view = reader.view(schema, here);
    const walkChild = (segment: string | number, childSchema: Schema | undefined) => {
      const child = childOf(here, segment);
      if (child === undefined || childSchema === undefined) return;
      path.push(segment);
      walk(child, childOf(shown, segment), childSchema, here);
      path.pop();
    };
    if (Array.isArray(here)) here.forEach((_, index) => walkChild(index, view.items));
    else if (isObject(here)) {
      for (const name of Object.keys(here)) {
        if (view.nameFormat !== undefined && !view.keys.has(name)) {
          const format = view.nameFormat;
          visit({ path: [...path, name], format, value: name, written: name, at: "name", parent: here });
        }
        walkChild(name, view.keys.get(name) ?? view.otherKeys);
      }
    } else if (view.format !== undefined && isFormattable(here)) {
      visit({
        path: [...path],
        format: view.format,
        value: here,
        written: isFormattable(shown) ? shown : here,
        ...view.mayHoldFields && { mayHoldFields: true, ...isObject(parent) && { parent } },
      });
    }
  };
  walk(value, written, reader.root);
}

function isFormattable(value: JsonValue | undefined): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** Validates a value against its format. The message quotes only text of the config. */
export function findFormatProblem(item: FormattedValue): Problem | null {
  const field = item.mayHoldFields === true ? findUnknownField(item) : null;
  const problem = field ?? FORMAT_CHECKS[item.format]?.(item) ?? null;
  return problem && { path: item.path, ...problem };
}

type FormatCheck = (item: FormattedValue) => Found;

type Found = Pick<Problem, "message" | "hint"> | null;

/** One mailbox in the syntax of RFC 5321, without quoting: accepted by all SMTP servers. */
const ADDRESS = /^[^\s@<>()[\],;:\\"\p{Cc}]+@[^\s@<>(),;\\"\p{Cc}]+$/u;

/** The rules of each format of `schemas/source.json`. A text never contains NUL: the system would not accept it. */
const FORMAT_CHECKS: Readonly<Record<string, FormatCheck>> = {
  // Numbers below 1 and fractions are the schema's business.
  interval: (item) =>
    typeof item.value === "number" && (item.value < 1 || !Number.isInteger(item.value))
      ? null
      : amount(`an interval, expected ${INTERVAL_FORMS}`, parseInterval)(item),
  retention: amount(`an interval, expected ${RETENTION_FORMS}`, parseRetention),
  url: checkUrl,
  secret_url: checkUrl,
  socket_url: rule(
    (text) => /^wss?:\/\//i.test(text) && URL.canParse(text),
    "is not the URL of a WebSocket, expected one that begins with wss:// or ws://",
  ),
  address: rule(ADDRESS, "is not an email address, expected one such as admin@example.org"),
  listen_address: checkListenAddress,
  host: checkHost,
  ip_address: rule(
    (text) => canonicalAddress(text) !== null,
    "is not an IP address, expected one such as 127.0.0.1",
  ),
  host_port: rule(
    (text) => {
      const port = Number(HOST_PORT.exec(text)?.[1]);
      return port >= 1 && port <= 65_535;
    },
    "is not a server, expected HOST:PORT such as 192.0.2.1:443",
  ),
  database_host: rule(
    (text) => text === "" || parseDatabaseHost(text) !== null,
    "is not a server, expected HOST, HOST:PORT or a directory",
  ),
  path: checkText,
  file_name: checkFileName,
  input_file: checkText,
  command: checkText,
  argument: checkText,
  variable: checkText,
  template: checkBody,
  template_key: findChoiceProblem,
  include: checkInclude,
  tag: checkKnown,
  unit: rule(isUnit, "is not a systemd unit, expected one such as nginx.service"),
  location: ({ value, written }) =>
    isLocationName(String(value)) ? null : { message: `is ${quoteValue(written)}, ${LOCATION_NAME}` },
  channel_name: checkKnown,
  time_of_day: checkTimeOfDay,
  time_zone: checkTimeZone,
  date: rule(isDate, 'is not a date, expected one such as "2026-01-31" or "2026-01-31 22:00"'),
  duration: amount(`a duration, expected ${DURATION_FORMS}`, parseDuration),
  size_or_percentage: limit("size_or_percentage"),
  count_or_percentage: limit("count_or_percentage"),
  objective: amount(`an objective, expected ${OBJECTIVE_FORMS}`, (value) => parseObjective(String(value))),
  message_limit: amount(
    `a limit, expected ${MESSAGE_LIMIT_FORMS}`,
    (value) => parseMessageLimit(String(value)),
  ),
  status: checkStatus,
  header_value: checkHeaderValue,
  telegram_chat: rule(
    /^(?:@\w+|-?\d+)$/,
    'is not a chat, expected an id such as -1001234567890 or a name such as "@example"',
  ),
  ntfy_topic: rule(
    /^[-\w]{1,64}$/,
    "is not a topic, expected up to 64 letters, digits, - and _, without the server",
  ),
  matrix_room: rule(/^!\S+$/, 'is not the id of a room, expected one such as "!room:example.org"'),
  range: texts(
    rule(
      (text) => parseRange(text) !== null,
      'is not a range, expected one such as "10", "10:", "~:10" or "10:20"',
    ),
  ),
  file_mode: rule(/^[0-7]{3,4}$/, 'is not a file mode, expected three or four octal digits such as "0640"'),
  sha256: rule(
    /^[0-9a-f]{64}$/i,
    "is not a SHA-256 checksum, expected 64 hexadecimal digits, as sha256sum prints them",
  ),
  size: texts(amount(`a size, expected ${SIZE_FORMS}`, parseSize)),
};

/** Negative numbers and fractions are the schema's business. */
function texts(check: FormatCheck): FormatCheck {
  return (item) => typeof item.value === "number" ? null : check(item);
}

function rule(accepted: RegExp | ((text: string) => boolean), message: string): FormatCheck {
  const accepts = accepted instanceof RegExp ? (text: string) => accepted.test(text) : accepted;
  return (item) => accepts(String(item.value)) ? null : refuse(item, message);
}

function refuse({ written }: Pick<FormattedValue, "written">, message: string, hint?: string): Found {
  return { message: `${quoteValue(written)} ${message}`, hint };
}

/** The exact error would quote a secret. */
function amount(noun: string, parse: (value: string | number) => object): FormatCheck {
  return (item) => {
    const parsed = parse(item.value);
    if (!("problem" in parsed)) return null;
    return refuse(item, item.value === item.written ? String(parsed.problem) : `is not ${noun}`);
  };
}

function limit(format: LimitFormat): FormatCheck {
  return texts(amount(`a limit, expected ${LIMIT_FORMS[format]}`, (value) => parseLimit(value, format)));
}

function checkStatus(item: FormattedValue): Found {
  const { value } = item;
  // The schema validates numbers.
  if (typeof value === "number" || /^[1-5]xx$/.test(value)) return null;
  const hint = /^([1-5]\d\d|null)$/.test(value)
    ? `write ${value} without quotes`
    : /^[1-5]xx$/i.test(value)
    ? `did you mean ${quoteValue(value.toLowerCase())}?`
    : undefined;
  return refuse(item, 'is not a status, expected a code from 100 to 599 or a class such as "2xx"', hint);
}

/** Characters that end a header, or may be taken for its end (RFC 9110, 5.5). The value itself is not printed. */
function checkHeaderValue({ value }: FormattedValue): Found {
  // deno-lint-ignore no-control-regex
  const found = /[\u0000-\u0008\u000a-\u001f\u007f]/.exec(String(value));
  if (found === null) return null;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return { message: `the value contains the control character U+${code}, not allowed in headers` };
}

function checkUrl({ value, written, mayHoldFields = false }: FormattedValue): Found {
  const text = String(value);
  const shown = hideInAddress(String(written));
  const url = URL.parse(text);
  const isWeb = url !== null && (url.protocol === "http:" || url.protocol === "https:");
  // The URL parser skips any number of slashes, and line breaks and tabs.
  if (mayHoldFields && hasFields(/^[^/\\]*[/\\\s]*[^/\\?#]*/.exec(text)?.[0] ?? "")) {
    return refuse({ written }, "has a field in its scheme, host or port, expected one in path or query");
  }
  if (isWeb && /^https?:\/\//i.test(text.trim())) return null;
  const expected = "expected one that begins with http:// or https://";
  if (/^[\w.-]+(:\d+)?(\/|$)/.test(text)) {
    const hint = `did you mean ${quoteValue(`https://${shown}`)}?`;
    return { message: `the URL ${quoteValue(shown)} has no scheme, ${expected}`, hint };
  }
  if (url !== null && !isWeb && value === written) {
    return { message: `the URL ${quoteValue(shown)} has the scheme "${url.protocol}", ${expected}` };
  }
  return { message: `${quoteValue(shown)} is not a URL, expected one such as https://example.org/health` };
}

function checkListenAddress(item: FormattedValue): Found {
  const text = String(item.value);
  if (parseListenAddress(text) !== null) return null;
  const hint = item.value === item.written && /^:?\d+$/.test(text)
    ? `for this machine only, write ${quoteValue(`127.0.0.1:${text.replace(":", "")}`)}`
    : undefined;
  return refuse(item, "is not an IP address with a port, expected one such as 127.0.0.1:9797", hint);
}

function checkHost(item: FormattedValue): Found {
  const text = String(item.value);
  // An empty one is the schema's business.
  if (text === "") return null;
  if (/^(?:[^:]*|\[[^\]]*\]):\d*$/.test(text)) {
    return refuse(item, "contains a port, expected only the host", 'write it in "port"');
  }
  return rule(/^[^\s/@?#\p{Cc}]+$/u, "is not a host, expected a name or IP address")(item);
}

function checkText(item: FormattedValue): Found {
  return String(item.value).includes("\0") ? refuse(item, "contains a NUL character, expected none") : null;
}

/** Values that are needed before secrets are read: paths of included files, tags, names of channels. */
function checkKnown(item: FormattedValue): Found {
  return holdsSecret(item.written) ? refuse(item, "contains a placeholder, expected plain text") : null;
}

function checkFileName(item: FormattedValue): Found {
  return String(item.value).includes("/")
    ? refuse(item, "contains a slash, expected a pattern of file names", 'write the directory in "path"')
    : checkText(item);
}

function checkInclude(item: FormattedValue): Found {
  if (!String(item.value).includes("**")) return checkKnown(item) ?? checkText(item);
  const message = 'contains "**", expected * for characters of one name';
  return refuse(item, message, "write each level, such as conf.d/*/*.jsonc");
}

function findUnknownField({ value, written }: FormattedValue): Found {
  const [unknown] = unknownFields(String(value));
  if (unknown === undefined) {
    const [filter] = unknownFilters(String(value));
    if (filter === undefined) return null;
    const shown = value === written ? ` ${quoteValue(filter)}` : "";
    return { message: `unknown filter${shown} of a field, expected ${FILTER_FORMS}` };
  }
  const expected = `expected one of ${TEMPLATE_FIELDS.join(", ")}`;
  // Values of a file or a variable are not printed.
  if (value !== written) {
    return { message: `the template names a field that a notification does not have, ${expected}` };
  }
  return {
    message: `a notification has no field ${quoteValue(`{{${unknown}}}`)}, ${expected}`,
    hint: didYouMean(unknown, TEMPLATE_FIELDS, (meant) => quoteValue(`{{${meant}}}`)),
  };
}

/** A body that is to be JSON is JSON with any values in its fields. */
function checkBody({ value, written, parent }: FormattedValue): Found {
  const headers = parent?.["headers"];
  const { escape, isJson } = bodyRuleOf(isObject(headers) ? headers : {});
  if (!isJson) return null;
  const filled = fillTemplate(String(value), SAMPLE_FIELDS, escape);
  try {
    JSON.parse(filled);
    return null;
  } catch {
    const [problem] = parseText(filled).problems;
    // The exact error would quote a secret.
    const reason = problem === undefined || value !== written ? "" : `: ${problem.message}`;
    const isBare = /[:[,]\s*\{\{/.test(String(value));
    const quotes = 'put double quotes around fields: "{{summary}}"';
    const hint = isBare ? quotes : 'for another type, set "Content-Type" in "headers"';
    return { message: `the body is not JSON with its fields filled${reason}`, hint };
  }
}

function checkTimeOfDay(item: FormattedValue): Found {
  const minute = minuteOfDay(String(item.value));
  const isEnd = item.path.at(-1) === "to";
  if (minute !== null && (isEnd || minute < 24 * 60)) return null;
  return refuse(item, `is not a time of day, expected one from "00:00" to "${isEnd ? "24:00" : "23:59"}"`);
}

/** The last digits of a day that does not exist differ once it is read. */
function isDate(text: string): boolean {
  const [, day, time = "00:00"] = /^(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d))?$/.exec(text) ?? [];
  const ms = Date.parse(`${day}T${time}Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(`${day}T${time}`);
}

function checkTimeZone({ value, written }: FormattedValue): Found {
  if (isTimeZone(String(value))) return null;
  const message = 'is not a time zone, expected a name such as "Europe/Zurich" or "UTC"';
  const meant = value === written ? nearestZone(String(value)) : undefined;
  return refuse({ written }, message, meant && `did you mean ${quoteValue(meant)}?`);
}

/** Returns the time zone of a config, if it is valid, else that of the machine. */
export function timeZoneOf(config: JsonValue | undefined, system: Pick<System, "timeZone">): string {
  const zone = isObject(config) ? config["time_zone"] : undefined;
  return typeof zone === "string" && isTimeZone(zone) ? zone : system.timeZone();
}

/** Caches names: most configs have one time zone many times, and the lookup is slow. */
const knownZones = new Map<string, boolean>();
const KNOWN_ZONES_MAX = 1000;

function isTimeZone(name: string): boolean {
  if (knownZones.size === KNOWN_ZONES_MAX && !knownZones.has(name)) knownZones.clear();
  return knownZones.getOrInsertComputed(name, lookUpZone);
}

/** No zone of the database has so long a name. */
const ZONE_LENGTH_MAX = 100;

function lookUpZone(name: string): boolean {
  if (name.length > ZONE_LENGTH_MAX) return false;
  // Other texts would be parsed as a date with a zone.
  if (!/^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** The zone that may be meant; a city alone means its zone. */
function nearestZone(name: string): string | undefined {
  if (name.length > ZONE_LENGTH_MAX) return undefined;
  const zones = Intl.supportedValuesOf("timeZone");
  const city = name.replaceAll(" ", "_").toLowerCase();
  return zones.find((zone) => zone.toLowerCase().endsWith(`/${city}`)) ?? nearest(name, [...zones, "UTC"]);
}

/** Validates a key of a JSON template: a field chooses one of the values below it, and is the only key. */
function findChoiceProblem({ value, parent = {} }: Pick<FormattedValue, "value" | "parent">): Found {
  const key = String(value);
  if (!hasFields(key)) return null;
  const shown = quoteValue(key);
  const field = onlyFieldOf(key);
  const accepted = field && CHOOSING_FIELDS[field];
  if (accepted === undefined) {
    const expected = Object.keys(CHOOSING_FIELDS).map((name) => `{{${name}}}`).join(", ");
    return { message: `the key ${shown} cannot choose a value, expected one of ${expected}` };
  }
  if (Object.keys(parent).length > 1) {
    return { message: `the key ${shown} chooses a value, expected no other key in its object` };
  }
  const cases = parent[key];
  if (!isObject(cases)) {
    const example = JSON.stringify({ [accepted[0] ?? ""]: 1, [ANY_VALUE]: 2 });
    const expected = `expected an object such as ${example}`;
    return { message: `the key ${shown} has no values to choose from, ${expected}` };
  }
  const unknown = Object.keys(cases).find((name) => name !== ANY_VALUE && !accepted.includes(name));
  if (unknown === undefined) return null;
  return {
    message: `${shown} is never ${quoteValue(unknown)}, expected one of ${accepted.join(", ")}, ${ANY_VALUE}`,
    hint: didYouMean(unknown, accepted, quoteValue),
  };
}

const HOST_PORT = /^(?:\[[\da-fA-F:.]+\]|[^\s:/[\]@]+):(\d{1,5})$/;

/** Returns whether a text can name a location: names are listed with commas, and are typed on command lines. */
export function isLocationName(text: string): boolean {
  return /^[\w.-]{1,64}$/.test(text);
}

export const LOCATION_NAME = 'expected 1 to 64 letters, digits, ".", "_" or "-"';
