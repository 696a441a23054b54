import type { ServerApi } from "../../sources/server/connect-server.ts";
import type { FeatureDefinition } from "../feature.ts";
import { legacyApi, speaksLegacy } from "./legacy-transport.ts";

/** The workflow API of tink 0.8 to 0.12. */
export const legacyServerApi: ServerApi = { connect: legacyApi, speaks: speaksLegacy };

export const legacy: FeatureDefinition = {
  name: "legacy",
  isUsed: ({ server }) => server !== undefined,
  open: async () => ({ serverApi: legacyServerApi }),
};
