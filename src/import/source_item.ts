import { hideInAddress, isCredentialName } from "../config/credentials.ts";
import type { ConfigDraft } from "./config_draft.ts";

/** A part of the source, such as an endpoint. Its secrets become placeholders, and its lost settings are listed. */
export class SourceItem {
  readonly draft: ConfigDraft;
  /** Its name in the list, such as `endpoint "api"`. */
  readonly label: string;
  /** For the names of checks and variables. */
  readonly name: string;

  constructor(draft: ConfigDraft, label: string, name: string) {
    this.draft = draft;
    this.label = label;
    this.name = name;
  }

  /** Lists a setting that the config does not have; `null`: the whole item. */
  leaveOut(key: string | null, reason: string): void {
    this.draft.leaveOut(this.label, key, reason);
  }

  /** Returns a placeholder for a secret; `words` name it within the item. */
  secret(value: string, words: string, place = this.label): string {
    return this.draft.secret(value, `${this.name} ${words}`, place);
  }

  /** Returns a placeholder for a key of check-ins over HTTP. */
  pingKey(): string {
    return this.draft.pingKey(this.name, this.label);
  }

  /**
   * A URL with placeholders for its user information and for query parameters that are named like credentials. A whole
   * login replaces the user information, and is sent with HTTP Basic.
   */
  url(
    address: string,
    { username, password }: Partial<Record<"username" | "password", string | undefined>> = {},
  ): string {
    const hide = (url: string): string =>
      hideInAddress(url, (credential) => this.secret(credential, "credentials"));
    if (username === undefined || password === undefined) return hide(address);
    const login = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
    const secret = this.secret(login, "login", `${this.label}, as USER:PASSWORD escaped for a URL`);
    const rest = address.replace(/^(\s*https?:\/\/)[^/?#]*@/i, "$1");
    return hide(rest).replace(/^\s*https?:\/\//i, (scheme) => `${scheme}${secret}@`);
  }

  /** Headers with placeholders for credentials. */
  headers(headers: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([header, value]) => {
        if (!isCredentialName(header) || value === "") return [header, value];
        const [, scheme = "", credential = ""] = /^((?:bearer|basic|token)\s+)?(.*)$/is.exec(value) ?? [];
        return [header, scheme + this.secret(credential, header, `${this.label}, header ${header}`)];
      }),
    );
  }

  /** A body with placeholders for fields of JSON and of forms that are named like credentials. */
  body(text: string): string {
    return text
      .replaceAll(/("([^"\\]{1,100})"\s*:\s*")((?:[^"\\]|\\.)*)(?=")/g, this.#hideAs("field"))
      .replaceAll(/((?:^|&)([\w.-]{1,100})=)([^&\s"{}]+)/g, this.#hideAs("field"));
  }

  /** A command line with placeholders for the values of options that are named like credentials. */
  commandLine(line: string): string {
    return line.replaceAll(/(?<=^|\s)(--?([\w-]{2,100})[=\s]\s*)(?!-)([^\s'"]+)/g, this.#hideAs("option"));
  }

  #hideAs(what: string): (whole: string, before: string, name: string, value: string) => string {
    return (whole, before, name, value) =>
      !isCredentialName(name) || value === ""
        ? whole
        : before + this.secret(value, name, `${this.label}, ${what} ${name}`);
  }
}
