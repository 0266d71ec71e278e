/** Finds credentials in a config by their position and name, including those in plain text. */
import { decodeComponent } from "../shared/text.ts";
import type { FormattedValue } from "./schema_view.ts";
import { holdsSecret, maskPlaceholders } from "./placeholders.ts";

/** Returns whether a header, a variable or a query parameter of this name usually has a credential, not its path. */
export function isCredentialName(name: string | number | undefined): boolean {
  return CREDENTIAL_NAME.test(String(name ?? ""));
}

const CREDENTIAL_NAME =
  /^(?!.*_file$).*(?:auth(?!ors?$|ority)|cookie|token|key|secret|passw|passphrase|signature|credential|session)|^(?:pass|pwd|sig)$/is;

/** Returns whether the whole value is a credential. Of a URL only parts are. */
export function isCredential({ format, path }: Pick<FormattedValue, "format" | "path">): boolean {
  return SECRET_FORMATS.includes(format) || NAMED_FORMATS.includes(format) && isCredentialName(path.at(-1));
}

/** A secret URL is a bearer credential: it grants permission to post to a chat. */
const SECRET_FORMATS: readonly string[] = ["secret", "secret_url"];
const NAMED_FORMATS: readonly string[] = ["header_value", "variable"];

/** Returns whether a value is a URL that may have credentials in it. */
export function isUrl({ format }: Pick<FormattedValue, "format">): boolean {
  return format === "url" || format === "socket_url";
}

export function mayHoldCredential(item: Pick<FormattedValue, "format" | "path">): boolean {
  return isUrl(item) || isCredential(item);
}

/** Returns whether a value as it is written has a credential in it that comes from no placeholder. */
export function holdsCredential(item: Pick<FormattedValue, "format" | "path" | "written">): boolean {
  const written = String(item.written);
  if (isUrl(item)) return hideInAddress(written, () => "") !== written;
  // A captured value is not in the config.
  return isCredential(item) && written !== "" && !holdsSecret(written) && !written.includes("${captured:");
}

/** Hides user information and query parameters that are named like credentials, unless they are placeholders. */
export function hideInAddress(
  address: string,
  hide: (credential: string) => string = () => "(hidden)",
): string {
  // A placeholder may contain a character that ends a part of a URL.
  const masked = maskPlaceholders(address);
  const spans: { readonly start: number; readonly end: number }[] = [];
  const user = USER_INFORMATION.exec(masked);
  if (user !== null) spans.push({ start: user[1]?.length ?? 0, end: user[0].length - 1 });
  for (const { 0: parameter, 1: name = "", 2: value = "", index } of masked.matchAll(PARAMETER)) {
    const end = index + parameter.length;
    if (isCredentialName(decodeComponent(name))) spans.push({ start: end - value.length, end });
  }
  let shown = "";
  let done = 0;
  for (const { start, end } of spans) {
    const credential = address.slice(start, end);
    shown += address.slice(done, start) +
      (credential === "" || holdsSecret(credential) ? credential : hide(credential));
    done = end;
  }
  return shown + address.slice(done);
}

/** Its scheme may have been forgotten. */
const USER_INFORMATION = /^(\s*(?:[a-z][a-z\d+.-]*:)?[/\\]{2}|(?!\s*mailto:))[^/?#\\]*@/i;
const PARAMETER = /[?&;#]([^?&;#=]*)=([^&;#]*)/g;

/** The forms in which a credential is sent: the token, and logins as in HTTP (RFC 7617) and SMTP (RFC 4616). */
export function* formsOfCredential(
  item: Pick<FormattedValue, "format" | "path" | "value">,
): Generator<string> {
  const value = String(item.value);
  if (isUrl(item)) {
    const url = URL.parse(value);
    if (url === null) return;
    const [username, password] = [decodeComponent(url.username), decodeComponent(url.password)];
    // A name without a password is a token; one with it is a word like any other.
    yield* password === "" ? [username] : [password];
    if (username !== "" || password !== "") yield `${username}:${password}`;
    for (const [name, one] of url.searchParams) if (isCredentialName(name)) yield one;
  } else if (isCredential(item)) {
    yield value;
    // The path may be printed without its host.
    if (item.format === "secret_url") yield value.replace(/^[^/]*\/+[^/?#]*[/?#]+/, "");
    if (item.format !== "header_value") return;
    const [scheme, ...parameters] = value.trim().split(/\s+/);
    if (parameters.length !== 1) return;
    const [token = ""] = parameters;
    yield token;
    if (scheme?.toLowerCase() === "basic") yield* formsOfLogin(token);
  }
}

function* formsOfLogin(token: string): Generator<string> {
  try {
    const login = new TextDecoder().decode(Uint8Array.fromBase64(token));
    yield login;
    yield login.slice(login.indexOf(":") + 1);
  } catch {
    // It is not base64, so it is sent as it is and can't be decoded.
  }
}
