import type { CrossCheck } from "../../config/cross-check.ts";
import type { ConfigPart } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { ActionImage, Duration } from "../../document/value-types.ts";
import { DRIFT_AGENT_ID } from "../shared/source-agent-ids.ts";

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS;

const settings = {
  driftInterval: setting(Duration(MINUTE_MS, YEAR_MS).optional(), {
    description: "How often the worker compares each machine with its desired state; without it, never",
    type: "duration",
  }),
  driftQuietTime: setting(Duration(MINUTE_MS, YEAR_MS).prefault("1h"), {
    description:
      "How long a machine must be without other actions before the worker corrects it, with `enforce` in its desired state",
    type: "duration",
  }),
  driftImage: setting(ActionImage.prefault("pbnj-worker/{action}:v{version}"), {
    description: "Image of the action that corrects a machine; must contain {action}",
    type: "image",
  }),
};
type Given = SettingsOf<typeof settings> & { readonly agentId: readonly string[] };

const rules: readonly CrossCheck<Given>[] = [
  {
    settings: ["agentId", "driftInterval"],
    not: ["run", "serve"],
    broken: ({ agentId, driftInterval }) => driftInterval !== undefined && agentId.includes(DRIFT_AGENT_ID),
    message: `holds ${DRIFT_AGENT_ID}, which is reserved for corrections: choose another one`,
  },
];

interface DriftConfig {
  /** The interval between two comparisons of a machine. */
  readonly intervalMs: number;
  /** A machine is corrected only after no other action has used it for this long. */
  readonly quietTimeMs: number;
  /** The image of a correction's action, with `{action}` and optionally `{version}`. */
  readonly image: string;
}

export interface DriftPart {
  /** Absent if machines are not compared with their desired states. */
  readonly drift?: DriftConfig;
}

function config({ driftInterval, driftQuietTime: quietTimeMs, driftImage: image }: Given): DriftPart {
  return driftInterval === undefined ? {} : { drift: { intervalMs: driftInterval, quietTimeMs, image } };
}

export const driftSettings = {
  group: "Hardware",
  not: ["run"],
  settings,
  rules,
  config,
} satisfies ConfigPart<Given>;
