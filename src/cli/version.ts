import project from "../../deno.json" with { type: "json" };

/** The version of the program. */
export const VERSION: string = project.version;
