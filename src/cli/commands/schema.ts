import { schemaText } from "../../config/schemas.ts";
import { type Command, EXIT } from "../command_definition.ts";
import { readShape, SHAPE_OPTION } from "./validate.ts";

export const schemaCommand: Command = {
  name: "schema",
  group: "plumbing",
  summary: "print the JSON schema of the config",
  description:
    'Prints the JSON schema (draft 2020-12) of the config. Editors use it if the key "$schema" names its file.',
  page: "reference/config.md",
  options: [SHAPE_OPTION],
  examples: [
    ["monitor schema > monitor.schema.json", "write the schema next to the config"],
    ["monitor schema --shape b", "print specification profile b"],
  ],
  uses: ["env"],
  endings: ["done"],
  run: async (invocation, system) => {
    system.stdout.write(await schemaText(readShape(invocation)));
    return EXIT.ok;
  },
};
