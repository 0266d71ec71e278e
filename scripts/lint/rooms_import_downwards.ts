import { visitModules } from "./modules.ts";
import { placedRule } from "./place.ts";

interface Room {
  /** The rooms it may import from, besides itself. */
  readonly imports: readonly string[];
  /** Whether it may import npm packages, the runtime's modules, and data files such as the schemas. */
  readonly packages: boolean;
}

const DOMAIN_ONLY: readonly string[] = ["domain"];

const EVERY_ROOM_BELOW: readonly string[] = [
  "domain",
  "schedule",
  "condition",
  "config",
  "checks",
  "channels",
  "storage",
  "system",
];

/** The rooms: the folders of src, and what each may import. `top` is the files directly in src. */
const ROOMS: ReadonlyMap<string, Room> = new Map([
  ["domain", { imports: [], packages: false }],
  ["schedule", { imports: [], packages: false }],
  ["condition", { imports: DOMAIN_ONLY, packages: false }],
  ["config", { imports: DOMAIN_ONLY, packages: true }],
  ["checks", { imports: DOMAIN_ONLY, packages: true }],
  ["channels", { imports: DOMAIN_ONLY, packages: true }],
  ["storage", { imports: DOMAIN_ONLY, packages: true }],
  ["system", { imports: DOMAIN_ONLY, packages: true }],
  ["top", { imports: EVERY_ROOM_BELOW, packages: true }],
  ["cli", { imports: [...EVERY_ROOM_BELOW, "top"], packages: true }],
]);

/** What main.ts may import: all of src. */
const MAIN: Room = { imports: [...ROOMS.keys()], packages: true };

/** Files that are code, as against data that a room may embed. */
const CODE = /\.[cm]?[jt]sx?$/;

/**
 * `rooms-import-downwards`: a room imports only what lies below it, types included. What two rooms share goes
 * down into domain; `src/monitor.ts` and its neighbours join rooms, cli sits on top, `main.ts` imports src, and
 * nothing imports `main.ts`.
 */
export const roomsImportDownwards: Deno.lint.Rule = placedRule((context, path) => {
  const name = path === "main.ts" ? path : roomOf(path);
  const room = name === null ? null : name === "main.ts" ? MAIN : ROOMS.get(name);
  if (name !== null && room === undefined) {
    return {
      Program(node) {
        const message = `src/${name} is not a known room`;
        context.report({ range: [node.range[0], node.range[0]], message, hint: HINTS.room });
      },
    };
  }
  return visitModules(({ specifier, node }) => {
    const fault = faultOf(specifier, { path, name: name ?? "", room: room ?? null });
    if (fault !== null) context.report({ node, ...fault });
  });
});

interface Importer {
  /** Project path of the importing file. */
  readonly path: string;
  readonly name: string;
  /** `null` for what is not part of the program (tests, scripts …). */
  readonly room: Room | null;
}

interface Fault {
  readonly message: string;
  readonly hint: string;
}

const HINTS = {
  absolute: "import our own files by a relative path",
  computed: "write its name as a string, which the compiled executable needs too",
  downwards: "hand the value in, or put what both need into domain; src/monitor.ts joins rooms",
  main: "import the part of src that is needed, or run the program as a process",
  outside: "what the program needs belongs in src; only data files may come from elsewhere",
  packages: "domain, schedule and condition use no packages: hand the value in, or do it in another room",
  room: "put the file into one of the rooms, or add the room to scripts/lint/rooms_import_downwards.ts",
} as const;

function faultOf(specifier: string | null, { path, name, room }: Importer): Fault | null {
  if (specifier === null) {
    return room === null ? null : { message: "A computed import cannot be checked", hint: HINTS.computed };
  }
  if (/^(file:|\/)/.test(specifier)) {
    return { message: `Import "${specifier}" is an absolute path`, hint: HINTS.absolute };
  }
  if (!specifier.startsWith(".")) {
    if (room === null || room.packages) return null;
    return { message: `${name} may not import package "${specifier}"`, hint: HINTS.packages };
  }
  const target = resolve(path, specifier);
  if (target === "main.ts") return { message: "Nothing may import main.ts", hint: HINTS.main };
  if (room === null) return null;
  const targetRoom = roomOf(target);
  if (targetRoom !== null) {
    if (targetRoom === name || room.imports.includes(targetRoom)) return null;
    return { message: `${name} may not import ${targetRoom} ("${specifier}")`, hint: HINTS.downwards };
  }
  if (room.packages && !CODE.test(target)) return null;
  return { message: `${name} may not import "${specifier}" from outside src`, hint: HINTS.outside };
}

/** The room of a project path: `top` for a file directly in src, `null` outside src. */
function roomOf(path: string): string | null {
  const [folder, room, ...rest] = path.split("/");
  if (folder !== "src" || room === undefined) return null;
  return rest.length === 0 ? "top" : room;
}

/** The project path that a relative specifier leads to; it keeps its `..` where it leaves the project. */
function resolve(path: string, specifier: string): string {
  const parts = path.split("/").slice(0, -1);
  for (const part of specifier.replace(/[?#].*$/, "").split("/")) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}
