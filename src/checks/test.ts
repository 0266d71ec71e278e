import type { CheckKindEntry } from "../domain/check_kind.ts";
import { checkResult } from "../domain/check.ts";
import { withoutTarget } from "./targets.ts";

export const testKind: CheckKindEntry<"test"> = {
  observe: ({ parameters: { condition, output } }) => Promise.resolve(checkResult(condition, output)),
  target: withoutTarget("test"),
  requiredPermissions: () => ({}),
};
