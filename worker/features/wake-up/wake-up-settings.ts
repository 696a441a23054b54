import { z } from "zod";
import type { ConfigPart, Loading } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";

const settings = {
  wakeUp: setting(z.enum(["auto", "on", "off"]).prefault("auto"), {
    description:
      "Watch Workflows, and poll with an idle agent ID only when a Workflow is addressed to it; auto enables this if the worker uses the cluster anyway",
    chart: { value: "wakeUp" },
  }),
};
type Given = SettingsOf<typeof settings>;

export interface WakeUpPart {
  readonly wakeUp: boolean;
}

/**
 * Connects to a cluster only if that was requested: waking lanes does not justify it, and neither do machines of another
 * cluster.
 */
function config({ wakeUp }: Given, { usesCluster }: Loading): WakeUpPart {
  return { wakeUp: wakeUp === "on" || (wakeUp === "auto" && usesCluster) };
}

export const wakeUpSettings = {
  group: "Kubernetes",
  not: ["run", "serve"],
  settings,
  cluster: ({ wakeUp }) => (wakeUp === "on" ? "opened" : undefined),
  config,
} satisfies ConfigPart<Given>;
