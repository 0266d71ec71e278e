import schema from "../../schemas/monitor.schema.json" with { type: "json" };

/** All check kinds as messages list them. */
export const CHECK_KINDS: string = schema.$defs.check.properties.kind.enum.map((kind) => `"${kind}"`).join(
  ", ",
);
