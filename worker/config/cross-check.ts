import type { SettingName, Settings } from "./schema.ts";

/** `serve` is `start` without a tink server. */
export type ConfigCommand = "start" | "serve" | "run";

/** A rule that involves several settings. */
export interface CrossCheck {
  /** The setting to blame, then the others that the rule reads. */
  readonly settings: readonly [SettingName, ...SettingName[]];
  readonly broken: (settings: Settings) => boolean;
  /** Commands to which the rule does not apply. */
  readonly not?: readonly ConfigCommand[];
  /** Follows the source of the blamed setting; `{name}` becomes the name by which that setting was given. */
  readonly message: string;
}

/** A setting that needs another one. */
export const needs = (name: SettingName, other: SettingName, message: string): CrossCheck => ({
  settings: [name, other],
  broken: (settings) => isGiven(settings[name]) && !isGiven(settings[other]),
  message,
});

function isGiven(value: Settings[SettingName]): boolean {
  return value !== undefined && value !== false;
}
