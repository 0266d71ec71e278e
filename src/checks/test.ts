import type { CheckKindEntry } from "../domain/check_kind.ts";
import { checkResult } from "../domain/check.ts";
import { withoutTarget } from "./targets.ts";

export const testKind: CheckKindEntry<"test"> = {
  observe({ parameters: { condition, output } }, { signal }) {
    if (signal.aborted) return Promise.reject(signal.reason);
    return Promise.resolve(checkResult(condition, output));
  },
  limit: "none",
  target: withoutTarget("test"),
  warnings: () => [],
  requiredPermissions: () => ({}),
};
