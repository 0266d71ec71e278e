import { openInMemoryStore } from "../../../src/state/sqlite/in_memory_store.ts";
import { testStore } from "../conformance.ts";

testStore("openInMemoryStore()", async (use) => {
  const store = await openInMemoryStore();
  await use(store);
  await store.close();
});
