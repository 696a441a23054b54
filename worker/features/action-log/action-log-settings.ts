import { join, resolve } from "node:path";
import type { ConfigPart, Loading } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { ByteSize, Count, Text } from "../../document/value-types.ts";

const settings = {
  actionLogDirectory: setting(Text.optional(), {
    description: "Folder for the action logs, with one file per action",
    type: "folder",
    defaultText: "`logs` in the state directory",
  }),
  actionLogDays: setting(Count(1, 3_650).prefault(14), {
    description: "Number of days to keep action logs",
    type: "days",
  }),
  actionLogMaxSize: setting(ByteSize(0, 1_024 ** 4).prefault("256Mi"), {
    description: "Maximum size of all action logs; the oldest are removed first; 0 keeps none",
    type: "size",
  }),
};
type Given = SettingsOf<typeof settings>;

/** Where action logs are kept, and for how long. */
export interface ActionLogConfig {
  /** An absolute path. */
  readonly directory: string;
  readonly maxAgeMs: number;
  /** Limit for the total size of all logs. */
  readonly maxBytes: number;
}

export interface ActionLogPart {
  /** Absent if no logs are kept. */
  readonly actionLog?: ActionLogConfig;
}

const DAY_MS = 24 * 3_600_000;

function config(
  { actionLogDirectory, actionLogDays, actionLogMaxSize: maxBytes }: Given,
  { stateDirectory }: Loading,
): ActionLogPart {
  if (maxBytes === 0) return {};
  const directory = resolve(actionLogDirectory ?? join(stateDirectory, "logs"));
  return { actionLog: { directory, maxAgeMs: actionLogDays * DAY_MS, maxBytes } };
}

export const actionLogSettings = {
  group: "Operating",
  not: ["run"],
  settings,
  config,
} satisfies ConfigPart<Given>;
