import type { Format } from "./format.ts";

export type FormatName = "pretty" | "json" | "ndjson" | "junit" | "tap" | "plugin" | "github";

/** Every format of `check --once`, in the order of the help; a run reads the one that it prints. */
export const FORMATS: { readonly [Name in FormatName]: () => Promise<Format> } = {
  pretty: async () => (await import("./pretty.ts")).prettyFormat,
  json: async () => (await import("./json.ts")).jsonFormat,
  ndjson: async () => (await import("./json.ts")).ndjsonFormat,
  junit: async () => (await import("./junit.ts")).junitFormat,
  tap: async () => (await import("./tap.ts")).tapFormat,
  plugin: async () => (await import("./plugin.ts")).pluginFormat,
  github: async () => (await import("./github.ts")).githubFormat,
};
