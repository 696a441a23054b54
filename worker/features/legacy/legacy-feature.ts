import type { FeatureDefinition } from "../feature.ts";

/** Adds the workflow API of tink 0.8 to 0.12. */
export const legacy = {
  name: "legacy",
  isUsed: ({ server }) => server !== undefined,
  open: async () => [{ kind: "server", api: (await import("./legacy-transport.ts")).legacyServerApi }],
} satisfies FeatureDefinition;
