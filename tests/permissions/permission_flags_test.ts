import assert from "node:assert/strict";
import { groupPermissions, permissionFlags } from "../../src/permissions/required_permissions.ts";
import { shellWord } from "../../src/shared/text.ts";
import { runChild, tool } from "../../testing/tools.ts";

Deno.test("permissionFlags() sorts, lists each thing once and doubles commas", () => {
  const requiredPermissions = [
    { permission: "run", value: "/b", neededBy: "" },
    { permission: "read", value: "/a,b", neededBy: "" },
    { permission: "run", value: "/a", neededBy: "" },
    { permission: "run", value: "/b", neededBy: "" },
  ] as const;
  assert.deepStrictEqual(permissionFlags(groupPermissions(requiredPermissions)), [
    "--allow-read=/a,,b",
    "--allow-run=/a,/b",
  ]);
});

Deno.test("shellWord() is restored by a shell", async (t) => {
  const words = ["--allow-net=a:1,[::1]:2", "it's", "a b", '$HOME `x` "y"', "", "a\nb"];
  for (const word of words) {
    await t.step(JSON.stringify(word), async () => {
      const { stdout } = await runChild(tool("sh"), ["-c", `printf %s ${shellWord(word)}`]);
      assert.strictEqual(stdout, word);
    });
  }
});
