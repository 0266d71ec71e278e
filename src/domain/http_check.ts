import type { TimeLeft } from "./time_left.ts";

/** A class of statuses: `"2xx"` is every status from 200 to 299. */
type StatusClass = `${1 | 2 | 3 | 4 | 5}xx`;

export type ExpectedStatus = number | StatusClass;

export interface HttpRequest {
  /** An `http:` or `https:` URL. */
  readonly target: string;
  /** Of the first request; a redirect may turn it into a `GET`. */
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  /** Names as in the config. Values contain no control characters but tabs; they may be secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as UTF-8; never with `GET` and `HEAD`. It may contain secrets. */
  readonly body?: string;
  /** Absent: followed, unless a 3xx is expected. */
  readonly redirects?: "follow" | "refuse";
  /** Settings of `https:` connections, in addition to the defaults. */
  readonly tls?: HttpTls;
  /** Absolute path of a Unix socket to connect to, for `http:` only. */
  readonly socket?: string;
  /** A name or an IP address to connect to, for `http:` only. */
  readonly connectTo?: string;
  /** Whether each IP address of the name is checked, for `http:` only. */
  readonly everyAddress?: boolean;
}

/** Absolute paths of PEM files. */
export interface HttpTls {
  readonly caFile?: string;
  /** The certificate for the target's origin only; never without `key`. */
  readonly certificate?: string;
  /** Of `certificate`; never without it. */
  readonly key?: string;
}

export interface HttpExpectation {
  /** `null`: any status. A list is not empty; one of it must fit. */
  readonly statusCode: ExpectedStatus | readonly ExpectedStatus[] | null;
  /** Names as the config gives them; compared case-insensitively. */
  readonly headers: Readonly<Record<string, string | HeaderExpectation>>;
  /** Text that the first 10 MiB of the decoded body must contain. */
  readonly bodyPart?: string;
  /** Text that the first 10 MiB of the decoded body must not contain. */
  readonly notBodyPart?: string;
  /** A regular expression in RE2 syntax that must match in the body's beginning. */
  readonly bodyPattern?: string;
  /** A regular expression in RE2 syntax that must not match in the body's beginning. */
  readonly notBodyPattern?: string;
  /** By path (RFC 9535): a value that is to be equalled, or comparisons. */
  readonly json?: Readonly<Record<string, JsonExpectation | JsonPlain>>;
  readonly warningDurationMs?: number;
  readonly criticalDurationMs?: number;
  /** The least time until the target's certificate expires; absent: it is not checked. */
  readonly certificate?: TimeLeft;
}

interface HeaderExpectation {
  /** A regular expression in RE2 syntax. */
  readonly matches: string;
}

/** Comparisons of the values at a path: each must be true of every value. */
export interface JsonExpectation {
  readonly equals?: JsonAny;
  readonly notEquals?: JsonAny;
  /** It must equal one of these; not empty. */
  readonly oneOf?: readonly JsonAny[];
  /** It must be a text that matches this regular expression in RE2 syntax. */
  readonly matches?: string;
  /** It must be a text with this text in it, or a list with this value. */
  readonly contains?: JsonAny;
  /** It must be a number from this on. */
  readonly atLeast?: number;
  /** It must be a number up to this. */
  readonly atMost?: number;
  readonly lessThan?: number;
  readonly greaterThan?: number;
  /** Of a text, a list or an object. */
  readonly length?: number | { readonly atLeast?: number; readonly atMost?: number };
  /** It must be a time that is not longer ago. */
  readonly newerThanMs?: number;
  /** `false`: the path must find nothing. Otherwise it must find something. */
  readonly exists?: boolean;
}

/** A value of JSON that is no object, so that it cannot be taken for comparisons. */
export type JsonPlain = string | number | boolean | null | readonly JsonAny[];

/** A JSON value. Objects of a config have no prototype. */
export type JsonAny = JsonPlain | { readonly [name: string]: JsonAny };

/** Where a value of a response is found; at most one of `json` and `header`, without either the body. */
export interface HttpCapture {
  /** A JSON path (RFC 9535); its first match. */
  readonly json?: string;
  readonly header?: string;
  /** A regular expression in RE2 syntax; its first group, or the whole match. */
  readonly pattern?: string;
}

/** One request of several, with the expectations of its response. */
export interface HttpStep {
  /** Absent: its number. */
  readonly name?: string;
  /** Texts may name values that earlier steps captured: `${captured:NAME}`. */
  readonly request: HttpRequest;
  readonly response: HttpExpectation;
  readonly capture?: Readonly<Record<string, HttpCapture>>;
  /** Whether it runs after a step that failed, too. */
  readonly always: boolean;
}

/** Parameters of an `http_request` check: a request, or steps. */
export interface HttpRequestParameters {
  /** The first request; redirects follow from it. */
  readonly request?: HttpRequest;
  readonly response: HttpExpectation;
  /** Not empty; never with `request`. */
  readonly steps?: readonly HttpStep[];
  /** Whether a violation is `warning` instead of `critical`. */
  readonly asWarning: boolean;
}
