import type { CrossCheck } from "../../config/cross-check.ts";
import type { ConfigPart } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { Duration, Toggle } from "../../document/value-types.ts";

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS;

const settings = {
  agentAttributes: setting(Toggle.prefault(false), {
    description:
      "Read each machine's hardware from its BMC and send it with the polls of its agent ID, so that WorkflowRuleSets can match it",
    not: ["serve"],
  }),
  hardwareMaxAge: setting(Duration(MINUTE_MS, YEAR_MS).prefault("24h"), {
    description: "Age at which the worker reads a machine's hardware again",
    type: "duration",
  }),
};
type Given = SettingsOf<typeof settings> & {
  readonly grpcServer: string | undefined;
  readonly grpcApi: string;
};

const concerns: readonly CrossCheck<Given>[] = [
  {
    settings: ["agentAttributes", "grpcApi"],
    not: ["run", "serve"],
    broken: ({ agentAttributes, grpcApi }) => agentAttributes && grpcApi === "legacy",
    message: "has no effect with {grpcApi} legacy: that API has no attributes",
  },
];

export interface HardwarePart {
  /** Whether polls contain the hardware of the agent ID's machine. */
  readonly agentAttributes: boolean;
  readonly hardwareMaxAgeMs: number;
}

function config({ agentAttributes, grpcServer, hardwareMaxAge }: Given): HardwarePart {
  return { agentAttributes: agentAttributes && grpcServer !== undefined, hardwareMaxAgeMs: hardwareMaxAge };
}

export const hardwareSettings = {
  group: "Hardware",
  not: ["run"],
  settings,
  concerns,
  config,
} satisfies ConfigPart<Given>;
