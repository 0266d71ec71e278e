/**
 * Hides the values in a trace whose names are those of credentials, in all the forms in which servers send them: the
 * redactor knows only secrets of the config and of the run. It may hide more than a credential.
 */
import { isCredentialName } from "../../config/credentials.ts";
import { decodeComponent } from "../../shared/text.ts";

export const HIDDEN = "(hidden)";

export function hideValues(text: string): string {
  return FORMS.reduce(hideForm, text).replaceAll(USER_INFORMATION, `$1${HIDDEN}@`);
}

/** A way to give a value a name. */
interface Form {
  /** Matches all in front of a value; its groups are `name` and, if the value is quoted like it, `quote`. */
  readonly beforeValue: RegExp;
  /** Returns the names around a value. @default that in front of it */
  namesAround?(text: string, start: number, end: number): readonly string[];
  endOf(text: string, start: number, quote: string): number;
}

/** A value that is not hidden may have others in it, so the search goes on in it. */
function hideForm(text: string, { beforeValue, namesAround, endOf }: Form): string {
  let shown = "";
  let done = 0;
  beforeValue.lastIndex = 0;
  for (let found = beforeValue.exec(text); found !== null; found = beforeValue.exec(text)) {
    const { name = "", quote = "" } = found.groups ?? {};
    const start = beforeValue.lastIndex;
    const names = namesAround?.(text, start, endOf(text.slice(0, start + VALUE_LENGTH_MAX), start, quote)) ??
      name.split(/["'\s;=]+/);
    if (!names.some((each) => isCredentialName(decodeName(each)))) continue;
    shown += `${text.slice(done, start)}${quote}${HIDDEN}${quote}`;
    done = endOf(text, start, quote);
    beforeValue.lastIndex = done;
  }
  return shown + text.slice(done);
}

/** Returns where a value ends by the pattern of its text, which is sticky. */
function endBy(pattern: RegExp): Form["endOf"] {
  return (text, start) => {
    pattern.lastIndex = start;
    return pattern.test(text) ? pattern.lastIndex : start;
  };
}

/** Bounds the search for a name behind a value. */
const VALUE_LENGTH_MAX = 8000;
/** The distance of a name from its value in an element or an object. */
const DISTANCE_MAX = 300;

/** Returns the names in the element or object around a value, on both sides. */
function namesOfField(text: string, start: number, end: number): readonly string[] {
  const before = text.slice(Math.max(0, start - DISTANCE_MAX), start).split(/[{}<>]/).at(-1) ?? "";
  const after = text.slice(end, end + DISTANCE_MAX).split(/[{}<>]/, 1)[0] ?? "";
  return [before, after].flatMap((side) =>
    [...side.matchAll(FIELD_NAME)].map(({ groups }) => groups?.["name"] ?? "")
  );
}

const FIELD_NAME =
  /\b(?:name|key|header|field|parameter)(?:\\{0,7}["'])?\s{0,9}[=:]\s{0,99}(?:\\{0,7}["'])?(?<name>(?:[^"'\s<>{}=\\]|\\[^"'\s]){1,100})/gi;

const QUOTED = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/y;

const endOfAttribute = endBy(/"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,>}]+/y);

const FORMS: readonly Form[] = [
  // Fields of a form in HTML or JSON, before the names in them are taken for those of values.
  {
    beforeValue:
      /(?<![\w-])(?<quote>(?:\\{1,7})?["'])?(?:values?|val|contents?)\k<quote>\s{0,9}[=:]\s{0,99}(?=\S)/gi,
    namesAround: namesOfField,
    endOf: (text, start, quote) => (quote === "" ? endOfAttribute : endOfValue)(text, start, quote),
  },
  // JSON, also in a text of JSON: the quotes may be escaped.
  {
    beforeValue:
      /(?<quote>(?:\\{1,7})?["'])(?<name>(?:[^"'\n\\]|\\[^"'\n]){1,100})\k<quote>\s{0,99}:\s{0,99}/g,
    endOf: endOfValue,
  },
  // Pairs and lists in JSON, and as programs write them.
  {
    beforeValue:
      /[[(]\s{0,99}(?<quote>(?:\\{1,7})?["'])(?<name>(?:[^"'\n\\]|\\[^"'\n]){1,100})\k<quote>\s{0,99},\s{0,99}(?=\S)/g,
    endOf: endOfValues,
  },
  // A name without quotes, as programs write it.
  { beforeValue: /(?<=[{,]\s{0,99})(?<name>[\w$-]{1,100})\s?:\s{0,99}(?=["'])/g, endOf: endBy(QUOTED) },
  // Queries, fragments, forms, parameters of headers and of commands.
  {
    beforeValue: /(?<![^?&;#,\s"'([{=/])(?<name>[^?&;#,\s"'<>()[\]{}=/]{1,100})\]?\s?=\s?(?=\S)/g,
    endOf: endBy(/"(?:[^"\\]|\\.)*"?|'[^']*'?|[^&;#\s"'<>]+/y),
  },
  // A URL in a query.
  {
    beforeValue: /%(?:3f|26|23)(?<name>[\w.+-]{1,100})%3d/gi,
    endOf: endBy(/(?:(?!%(?:26|23))[^&;#\s"'<>])+/iy),
  },
  // Fields of a form in parts (RFC 7578); other headers of the part may follow.
  {
    beforeValue:
      /\bname\*?=(?:[\w-]{1,20}'[\w-]{0,9}')?(?<name>(?:"[^"\n]{1,100}"|[^"\s;]{1,100})(?:;[ \t]{0,9}[\w*]{1,20}=[^;\n]{1,100}){0,5})[^\n]{0,200}\n(?:[ \t]{0,9}\S[^\n]{0,300}\n){0,9}[ \t]{0,9}\r?\n(?=[\s\S])/g,
    endOf: endBy(/(?:(?!\r?\n[ \t]*--)[\s\S])*/y),
  },
  // XML.
  {
    beforeValue: /<(?<name>[\w:.-]{1,100})(?:\s[^<>]{0,200})?>(?=[^<]|<!\[CDATA\[)/g,
    endOf: endBy(/(?:<!\[CDATA\[(?:[^\]]|\](?!\]>))*(?:\]\]>)?|[^<])+/y),
  },
  // Headers and lines of YAML.
  { beforeValue: /^[ \t]*(?:-[ \t]+)?(?<name>[\w.-]{1,100}):[ \t]+(?=[^\s(])/gm, endOf: endBy(/[^\n]*/y) },
];

const USER_INFORMATION = /(\b[a-z][a-z\d+.-]{0,30}:[\\/]{2})[^\s/?#"'<>\\]+@/gi;

/** A name with escapes of URLs, of HTML (`&amp;token`) or of JSON. */
function decodeName(name: string): string {
  return decodeComponent(name.replaceAll("+", " ")).replaceAll(
    ESCAPE,
    (whole, unicode?: string, hex?: string) => {
      const digits = unicode ?? hex;
      return digits === undefined ? whole.slice(1) : String.fromCharCode(parseInt(digits, 16));
    },
  );
}

const ESCAPE = /\\(?:u([\da-f]{4})|x([\da-f]{2})|.)/gi;

/** Where a value of JSON ends that begins at a position; the end of the text if it is cut. */
function endOfValue(text: string, start: number, quote: string): number {
  let depth = 0;
  for (let at = start; at < text.length;) {
    const character = text.charAt(at);
    if (text.startsWith(quote, at)) at = endOfText(text, at + quote.length, quote);
    else if ("[{".includes(character)) [at, depth] = [at + 1, depth + 1];
    else if ("]}".includes(character)) {
      if (depth === 0) return at;
      [at, depth] = [at + 1, depth - 1];
    } else if (depth === 0 && /[,\s]/.test(character)) return at;
    else {
      at++;
      continue;
    }
    if (depth === 0) return at;
  }
  return text.length;
}

/** Where the values of a list end, from one of them to the last. */
function endOfValues(text: string, start: number, quote: string): number {
  let end = endOfValue(text, start, quote);
  const separator = /\s{0,99},\s{0,99}(?=\S)/y;
  for (separator.lastIndex = end; separator.test(text); separator.lastIndex = end) {
    const next = endOfValue(text, separator.lastIndex, quote);
    if (next === separator.lastIndex) break;
    end = next;
  }
  return end;
}

function endOfText(text: string, start: number, quote: string): number {
  for (let at = start; at < text.length;) {
    if (text.startsWith(quote, at)) return at + quote.length;
    at += quote.length === 1 && text.charAt(at) === "\\" ? 2 : 1;
  }
  return text.length;
}
