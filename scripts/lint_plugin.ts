import { childrenInTools } from "./lint/children_in_tools.ts";
import { exitInMain } from "./lint/exit_in_main.ts";
import { names } from "./lint/names.ts";
import { noAmbient } from "./lint/no_ambient.ts";
import { onePlacePerKind } from "./lint/one_place_per_kind.ts";
import { layersImportDownwards } from "./lint/layers_import_downwards.ts";

/**
 * The project's own lint rules, run by `deno lint`: the conventions that a reader of this code may rely on. One file
 * a rule under `scripts/lint/`; the top of each file lists the forbidden code and its exceptions.
 */
const plugin: Deno.lint.Plugin = {
  name: "monitor",
  rules: {
    "children-in-tools": childrenInTools,
    "exit-in-main": exitInMain,
    "names": names,
    "no-ambient": noAmbient,
    "one-place-per-kind": onePlacePerKind,
    "layers-import-downwards": layersImportDownwards,
  },
};

export default plugin;
