import { z } from "zod";
import type { CrossCheck } from "../../config/cross-check.ts";
import type { ConfigPart } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";

const settings = {
  metal3Managed: setting(z.enum(["refuse", "via-host"]).prefault("refuse"), {
    description:
      "BareMetalHosts that Metal3 manages: refuse actions, or change their power through the BareMetalHost",
    chart: { value: "metal3.managed" },
  }),
};
type Given = SettingsOf<typeof settings> & {
  readonly kubernetesInventory: readonly string[];
  readonly kubernetesSources: readonly { readonly inventory: readonly string[] }[];
};

const concerns: readonly CrossCheck<Given>[] = [
  {
    settings: ["metal3Managed", "kubernetesInventory", "kubernetesSources"],
    broken: ({ metal3Managed, kubernetesInventory, kubernetesSources }) =>
      metal3Managed !== "refuse" &&
      ![kubernetesInventory, ...kubernetesSources.map(({ inventory }) => inventory)]
        .flat()
        .includes("baremetalhosts"),
    message: "has no effect without BareMetalHosts: add baremetalhosts to {kubernetesInventory}",
  },
];

export interface Metal3Part {
  /** How the worker treats BareMetalHosts that Metal3 manages. */
  readonly managedHosts: "refuse" | "via-host";
}

export const metal3Settings = {
  group: "Kubernetes",
  settings,
  concerns,
  config: ({ metal3Managed: managedHosts }): Metal3Part => ({ managedHosts }),
} satisfies ConfigPart<Given>;
