/** Configs that try to be slow, to overflow or to attack the program, each created in any size. */

const NAMES_OF_OBJECTS =
  "__proto__ constructor prototype toString valueOf hasOwnProperty __defineGetter__ then toJSON length";

/** A character of every general category of Unicode, by its abbreviation. */
export const CATEGORIES: Readonly<Record<string, string>> = {
  Lu: "Ä",
  Ll: "ß",
  Lt: "ǅ",
  Lm: "ʰ",
  Lo: "字",
  Mn: "e\u0301",
  Mc: "क\u093f",
  Me: "a\u20dd",
  Nd: "٣",
  Nl: "Ⅷ",
  No: "²",
  Pc: "a‿b",
  Pd: "—",
  Ps: "⟨",
  Pe: "⟩",
  Pi: "«",
  Pf: "»",
  Po: "¡",
  Sm: "∑",
  Sc: "₿",
  Sk: "\u02c5",
  So: "🜁",
  Zs: "a\u00a0b",
  Zl: "a\u2028b",
  Zp: "a\u2029b",
  Cc: "a\u0085b\u0007\u001b[31m\u009b2J\u007f",
  Cf: "a\u202eb\u200d\u2066\u00ad\ufeff",
  Cs: "a\ud83db\udc00",
  Co: "\ue000\u{f0000}",
  Cn: "\u{e0fff}\uffff",
};

/** Names that a check, a variable, a header or a tag may be given to do harm, or none. */
export const HOSTILE_NAMES: readonly string[] = [
  ...NAMES_OF_OBJECTS.split(" "),
  ...Object.values(CATEGORIES),
  "",
  " ",
  "\0",
  "a\r\nb",
  "\u001b]0;owned\u0007",
  "\u001b]8;;http://example.com\u001b\\",
  "]]><script>alert(1)</script>",
  "\"'><img src=x onerror=alert(1)>",
  "# SKIP",
  "ok 1 - a # TODO",
  'a\\nb{c="d"}',
  "$(id)`id`;|&",
  "%s%n",
  "../../etc/passwd",
  "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪",
  "\u2028",
  "0",
  "4294967295",
  "-1",
  "1e3",
  "x".repeat(10_000),
];

/** Numbers as written that a parser may read as others. */
export const NUMBERS: readonly string[] = [
  "1e400",
  "1e-400",
  "-0",
  "1E0",
  "9007199254740991",
  "9007199254740993",
  "4294967296",
  "2147483648",
  "1".repeat(5000),
  `0.${"3".repeat(5000)}`,
  "1e+0000000000000000000003",
];

const ZONES = Intl.supportedValuesOf("timeZone");

/** Something made as large as asked for, in characters. */
type Make = (size: number) => string;

/** The check of a row, by its number. */
type Row = (index: number) => string;

function rows(size: number, row: Row): string {
  const parts: string[] = [];
  let length = 0;
  while (length < size) {
    const part = row(parts.length);
    parts.push(part);
    length += part.length + 1;
  }
  return parts.join(",");
}

const withChecks = (row: Row): Make => (size) => `{"defaults":{},"checks":{${rows(size, row)}}}`;
const withDefaults = (start: string, text: (size: number) => string, end: string): Make => (size) =>
  `{"defaults":{${start}${text(size)}${end}}}`;
const withParameters =
  (kind: string, start: string, text: (size: number) => string, end: string): Make => (size) =>
    `{"defaults":{},"checks":{"a":{"kind":"${kind}","parameters":{${start}${text(size)}${end}}}}}`;
const asked = (response: string): string =>
  `"kind":"http_request","parameters":{"request":{"target":"http://a/"},"response":{${response}}}`;
const repeated = (text: string): Make => (size) => text.repeat(Math.max(1, Math.ceil(size / text.length)));

/** Configs by description. Those with only one kind of item find costs that grow faster than their number. */
export const HOSTILE_DOCUMENTS: Readonly<Record<string, Make>> = {
  "brackets": repeated("["),
  "braces": repeated('{"a":'),
  "missing commas": (size) => `[${repeated("1 ")(size)}]`,
  "a comment without an end": (size) => `{"defaults":{}} /*${repeated("*")(size)}`,
  "comments": (size) => `${repeated("//\n")(size)}{"defaults":{}}`,
  "a string without an end": (size) => `{"defaults":"${repeated('\\"')(size)}`,
  "escapes, the last one wrong": (size) => `{"defaults":"${repeated("\\n")(size)}\\q"}`,
  "a word": (size) => `{"defaults":${repeated("x")(size)}}`,
  "digits": withDefaults('"threshold":', repeated("9"), ""),
  "one name again and again": withChecks(() => '"c":1'),
  "unknown keys": (size) => `{"defaults":{},${rows(size, (index) => `"u${index}":1`)}}`,
  "unknown keys of checks": withChecks((index) => `"c${index}":{"kind":"test","parameterz":{}}`),
  "a long unknown key": (size) => `{"defaults":{},"${repeated("x")(size)}":1}`,
  "a long unknown kind": (size) =>
    `{"defaults":{},"checks":{"a":{"kind":"${repeated("test")(size)}","parameters":{}}}}`,
  "unknown kinds": withChecks((index) => `"c${index}":{"kind":"tesst${index}","parameters":{}}`),
  "channels that are numbers": withDefaults('"notifications":[', (size) => rows(size, () => "1"), "]"),
  "channels with a mistake": withDefaults(
    '"notifications":[',
    (size) => rows(size, () => '{"kind":"console","parameters":{"x":1}}'),
    "]",
  ),
  "names that are numbers": withChecks((index) =>
    `"${(index * 7919) % 4294967295}":{"kind":"test","parameters":{}}`
  ),
  "checks": withChecks((index) => `"c${index}":{"kind":"test","parameters":{}}`),
  "terms of an interval": withDefaults('"schedule":{"regular_interval":"', repeated("1s "), '"}'),
  "digits of an interval": withDefaults('"schedule":{"regular_interval":"', repeated("1"), '"}'),
  "spaces of an interval": withDefaults('"schedule":{"regular_interval":"1', repeated(" "), 'x"}'),
  "wrong intervals": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{},"timeout":"5 minuts"}`
  ),
  "digits of a duration": withChecks((index) =>
    `"c${index}":{${asked(`"warning_duration":"${"1".repeat(9999)}"`)}}`
  ),
  "placeholders": withParameters("test", '"output":"', repeated("${env:A}"), '"'),
  "escaped placeholders and open ones": withParameters("test", '"output":"', repeated("$${ ${env: "), '"'),
  "a look-alike of spaces": withParameters("test", '"output":"${env', repeated(" "), '"'),
  "look-alikes": withParameters("test", '"output":"', repeated("${ENV:x}"), '"'),
  "dollars": withParameters("test", '"output":"', repeated("$"), '"'),
  "variables that are not set": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{"output":"\${env:V${index}}"}}`
  ),
  "files that are not there": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{"output":"\${file:/v${index}}"}}`
  ),
  "programs that are not there": withChecks((index) =>
    `"c${index}":{"kind":"script","parameters":{"path":"p${index}"}}`
  ),
  "time zones that are none": (size) =>
    `{"defaults":{},"maintenance_windows":[${
      rows(size, (index) => `{"from":"01:00","to":"02:00","time_zone":"Europe/Zuerich${index}"}`)
    }]}`,
  "a long time zone": (size) =>
    `{"defaults":{},"maintenance_windows":[{"from":"01:00","to":"02:00","time_zone":"${
      repeated("Europe/")(size)
    }x"}]}`,
  "windows of the config and of checks": (size) =>
    `{"defaults":{},"maintenance_windows":[${
      rows(size / 2, () => '{"from":"01:00","to":"02:00"}')
    }],"checks":{${
      rows(size / 2, (index) =>
        `"c${index}":{"kind":"test","parameters":{},"maintenance_windows":[{"from":"01:00","to":"02:00"}]}`)
    }}}`,
  "times that never come": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{},"schedule":{"cron":"${index % 60} ${index % 24} 30 2 *"}}`
  ),
  "times of leap years in every zone": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{},"schedule":{"cron":"${index % 60} ${
      Math.floor(index / 60) % 24
    } 29 2 *","time_zone":"${ZONES[index % ZONES.length]}"}}`
  ),
  "times that differ in each check": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{},"schedule":{"cron":"${index % 60} */${index % 23 + 1} 1-${
      index % 31 + 1
    } * *"}}`
  ),
  "a long list of minutes": withDefaults('"schedule":{"cron":"', repeated("1,"), '1 * * * *"}'),
  "many fields of a schedule": withDefaults('"schedule":{"cron":"', repeated("1 "), '"}'),
  "expressions": withChecks((index) => `"c${index}":{${asked(`"body_pattern":"(a${index}|b){50}"`)}}`),
  "expressions that are too large": withChecks((index) =>
    `"c${index}":{${asked(`"body_pattern":"(${"a".repeat(900)}${index}){1000}"`)}}`
  ),
  "JSON paths": withParameters(
    "http_request",
    '"request":{"target":"http://a/"},"response":{"json":{',
    (size) => rows(size, (index) => `"$.a${index}[?@.b==1]":1`),
    "}}",
  ),
  "a JSON path of brackets": withParameters(
    "http_request",
    '"request":{"target":"http://a/"},"response":{"json":{"$',
    repeated("[?@"),
    '":1}}',
  ),
  "a JSON path of steps": withParameters(
    "http_request",
    '"request":{"target":"http://a/"},"response":{"json":{"$',
    repeated("..a"),
    '":1}}',
  ),
  "a template of fields that are none": withDefaults(
    '"notifications":[{"kind":"webhook","parameters":{"target":"http://a/","body":"',
    repeated("{{outpt}}"),
    '"}}]',
  ),
  "a template of braces": withDefaults(
    '"notifications":[{"kind":"webhook","parameters":{"target":"http://a/","body":"',
    repeated("{{"),
    '"}}]',
  ),
  "a long address": withParameters("http_request", '"request":{"target":"http://', repeated("a."), '/"}'),
  "header names that are none": withParameters(
    "http_request",
    '"request":{"target":"http://a/","headers":{',
    (size) => rows(size, (index) => `"h ${index}":"v"`),
    "}}",
  ),
  "checks that need the next one": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{},"depends_on":["c${index + 1}"]}`
  ),
  "checks that need what is not there": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{},"depends_on":["d${index}"]}`
  ),
  "checks that need what is long and is not there": withChecks((index) => {
    const name = index % 2 === 0 ? `a${index}${"x".repeat(2000)}` : `b${index}${"y".repeat(2000)}`;
    return index % 2 === 0
      ? `"${name}":{"kind":"test","parameters":{}}`
      : `"c${index}":{"kind":"test","parameters":{},"depends_on":["${name}"]}`;
  }),
  "checks that need each other": withChecks((index) =>
    `"c${index}":{"kind":"test","parameters":{},"depends_on":["c0","c1","c2","c3","c4","c5","c6","c7","c8","c${
      index + 1
    }"]}`
  ),
  "a check that needs itself again and again": (size) =>
    `{"defaults":{},"checks":{"a":{"kind":"test","parameters":{},"depends_on":[${
      rows(size, () => '"a"')
    }]}}}`,
  "a check that needs another of half the config": (size) =>
    `{"defaults":{},"checks":{"${"a".repeat(size / 2)}":{"kind":"test","parameters":{}},` +
    `"b":{"kind":"test","parameters":{},"depends_on":["${"b".repeat(size / 2)}"]}}}`,
  "includes that are not there": (size) =>
    `{"defaults":{},"include":[${rows(size, (index) => `"f${index}"`)}]}`,
  "patterns that match nothing": (size) =>
    `{"defaults":{},"include":[${rows(size, (index) => `"*${index}"`)}]}`,
  "a long pattern": (size) => `{"defaults":{},"include":"${repeated("*a")(size)}"}`,
  "a deep pattern": (size) => `{"defaults":{},"include":"${repeated("*/")(size)}x"}`,
  "words that look like secrets": (size) =>
    `{"defaults":{},${rows(size, (index) => `"${"token".repeat(1500)}${index}":1`)}}`,
};
