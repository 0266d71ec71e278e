import { type Command, EXIT, option, UsageError } from "../command_definition.ts";
import { isPostgresUrl } from "../../config/postgres_settings.ts";
import { pathFromHere } from "../../config/source.ts";
import type { StateTables } from "../../state/copy_state.ts";
import { locateDatabase, openDatabaseTables } from "../open_state.ts";
import { StateHeldError } from "../failure.ts";

export const stateCommand: Command = {
  name: "state",
  group: "plumbing",
  summary: "copy a state, or print the schema for PostgreSQL",
  operands: "copy FROM TO | schema",
  description:
    "copy: copies everything from one state to another, new one and compares both. FROM and TO are files or postgres:// URLs. " +
    "Stop the monitor first. schema: prints the SQL that creates the tables in PostgreSQL, for a DBA. The monitor runs it " +
    "itself if its role may create a schema.",
  page: "guides/several_machines.md",
  options: [option("--schema NAME", "schema of the tables (default: monitor)")],
  examples: [
    ["monitor state copy state.sqlite postgres://monitor@db.example.org/monitor", "move to PostgreSQL"],
    ["monitor state schema | psql monitor", "create the tables as a DBA"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "state", "held", "permission"],
  run: async (invocation, system) => {
    const [action, from, to, ...rest] = invocation.operands;
    if (action === "schema" && from === undefined) {
      const { schemaSql } = await import("../../state/postgres/postgres_tables.ts");
      system.stdout.write(schemaSql(invocation.text("schema") ?? "monitor"));
      return EXIT.ok;
    }
    if (action !== "copy" || from === undefined || to === undefined || rest.length > 0) {
      const example = "monitor state copy state.sqlite postgres://USER@HOST/DATABASE";
      throw new UsageError("state requires copy FROM TO, or schema", example);
    }
    if (invocation.has("schema")) {
      throw new UsageError("--schema cannot be used with copy", "add ?schema=NAME to the URL");
    }
    const { copyState } = await import("../../state/copy_state.ts");
    await using opened = new AsyncDisposableStack();
    const openTables = async (text: string, access: "own" | "read"): Promise<StateTables> => {
      if (isPostgresUrl(text)) {
        return await openDatabaseTables(await locateDatabase(text, system), system, access);
      }
      const path = pathFromHere(text, system);
      const lock = system.state.lock(`${path}.lock`);
      if (lock === null) {
        throw new StateHeldError(`cannot copy state "${path}": a monitor uses it`, "stop it first");
      }
      opened.defer(() => lock.release());
      const { openSqliteTables } = await import("../../state/sqlite/sqlite_tables.ts");
      const { state: { files }, userId, clock } = system;
      return await openSqliteTables(path, { files, userId, nowMs: clock.wallMs(), access });
    };
    const open = async (text: string, access: "own" | "read"): Promise<StateTables> =>
      opened.adopt(await openTables(text, access), (tables) => tables.close());
    const counts = await copyState(await open(from, "read"), await open(to, "own"));
    const lines = [...counts].map(([name, count]) => `${name.padEnd(NAME_WIDTH)}${count}\n`);
    system.stdout.write(`${lines.join("")}copied and compared\n`);
    return EXIT.ok;
  },
};

const NAME_WIDTH = 18;
