import type { Format } from "./format.ts";
import { jsonFormat } from "./json.ts";
import { junitFormat } from "./junit.ts";
import { ndjsonFormat } from "./ndjson.ts";
import { pluginFormat } from "./plugin.ts";
import { prettyFormat } from "./pretty.ts";
import { tapFormat } from "./tap.ts";

/** The name of a format, as `--format` takes it. */
export type FormatName = "pretty" | "json" | "ndjson" | "junit" | "tap" | "plugin";

/** Every format of `check --once`, in the order of the help. */
export const FORMATS: { readonly [Name in FormatName]: Format } = {
  pretty: prettyFormat,
  json: jsonFormat,
  ndjson: ndjsonFormat,
  junit: junitFormat,
  tap: tapFormat,
  plugin: pluginFormat,
};
