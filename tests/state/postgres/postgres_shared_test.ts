import type { SharedStore } from "../../../src/domain/membership.ts";
import { openHeartbeats } from "../../../src/state/postgres/postgres_members.ts";
import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import { clientOptions, POSTGRES, sharedPostgres, storeOptions } from "../../support/postgres.ts";
import { testSharedStore } from "../conformance_shared.ts";

const postgres = sharedPostgres();

testSharedStore("openPostgresStore()", async (use) => {
  const place = postgres().place();
  const stores: SharedStore[] = [];
  try {
    await use({
      open: async () => {
        const store = await openPostgresStore(place, storeOptions());
        stores.push(store);
        return store;
      },
      openHeartbeats: () => openHeartbeats(place, clientOptions()),
    });
  } finally {
    for (const store of stores) await store.close();
  }
}, POSTGRES);
