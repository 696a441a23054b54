import type { FeatureDefinition } from "../feature.ts";

/** Adds the workflow API of tink 0.8 to 0.12. */
export const legacy = {
  name: "legacy",
  isUsed: ({ server }) => server !== undefined,
  async open({ rules: { review } }) {
    const { legacyServerApi } = await import("./legacy-transport.ts");
    return [{ kind: "server", api: legacyServerApi((actions) => review.see(actions)) }];
  },
} satisfies FeatureDefinition;
