import type { Importer } from "./config_draft.ts";

/** The tools whose configs can be imported, in the order in which the help lists them. */
export const IMPORTED_TOOLS = [
  "gatus",
  "uptime-kuma",
  "monit",
  "nagios",
  "goss",
  "healthchecks",
  "blackbox",
] as const;

export type ImportedTool = typeof IMPORTED_TOOLS[number];

/** Reads the module of a tool. A tool without one does not compile. */
export const IMPORTERS: Readonly<Record<ImportedTool, () => Promise<Importer>>> = {
  gatus: async () => (await import("./gatus.ts")).gatusImporter,
  "uptime-kuma": async () => (await import("./uptime_kuma.ts")).uptimeKumaImporter,
  monit: async () => (await import("./monit.ts")).monitImporter,
  nagios: async () => (await import("./nagios.ts")).nagiosImporter,
  goss: async () => (await import("./goss.ts")).gossImporter,
  healthchecks: async () => (await import("./healthchecks.ts")).healthchecksImporter,
  blackbox: async () => (await import("./blackbox.ts")).blackboxImporter,
};
