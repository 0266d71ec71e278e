import { ListenError } from "../../domain/http_servers.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Endpoint } from "./endpoint.ts";
import type { EndpointConfig, EndpointSources } from "./views.ts";

interface EndpointSwitch {
  adopt(config: LoadedConfig): void;
  end(): Promise<void>;
}

/** Rejects with a {@linkcode ListenError} if it can't listen; at a reload that is logged. */
export async function startEndpoint(config: LoadedConfig, sources: EndpointSources): Promise<EndpointSwitch> {
  let endpoint: Endpoint | null = null;
  const change = async (next: LoadedConfig): Promise<void> => {
    const listen = sources.listenOf(next);
    if (listen === null) {
      await endpoint?.close();
      endpoint = null;
      return;
    }
    const wanted: EndpointConfig = { config: next, listen };
    if (endpoint !== null) return await endpoint.adopt(wanted);
    const { Endpoint } = await import("./endpoint.ts");
    endpoint = await Endpoint.start(wanted, sources);
  };
  await change(config);
  let changing: Promise<void> = Promise.resolve();
  return {
    adopt: (next) => {
      changing = changing.then(() => change(next)).catch((error) => {
        if (error instanceof ListenError) return sources.log.error(error.message);
        sources.onBug(error);
      });
    },
    end: async () => {
      await changing;
      await endpoint?.close();
    },
  };
}
