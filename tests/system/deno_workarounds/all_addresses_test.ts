import assert from "node:assert/strict";
import { runChild, testWith, tool } from "../../../testing/tools.ts";

testWith("nss_wrapper")(
  "Deno.connect() still tries only the first address of a name: delete all_addresses.ts if this fails",
  async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const hosts = await Deno.makeTempFile();
    await Deno.writeTextFile(hosts, "127.0.0.7 two.example\n127.0.0.1 two.example\n");
    const program = `
      const name = { hostname: "two.example", port: ${listener.addr.port} };
      const end = await Deno.connect(name).then(() => "connected", (error) => error.name);
      console.log(end);
    `;
    const { stdout } = await runChild(Deno.execPath(), ["eval", "--no-config", program], {
      env: { LD_PRELOAD: tool("nss_wrapper"), NSS_WRAPPER_HOSTS: hosts },
    });
    await Deno.remove(hosts);
    assert.equal(stdout, "ConnectionRefused\n");
  },
);
