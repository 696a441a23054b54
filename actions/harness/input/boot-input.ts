import type { BootModeChoice } from "../../../shared/contract/vocabulary.ts";
import { boolean, choice, type InputOf } from "./input.ts";

/** The boot mode, in this project's word and in Rufio's. */
export const bootModeInput = {
  mode: choice(["uefi", "legacy", "keep"], {
    env: "MODE",
    description: "The boot mode for this boot; keep leaves it as it is",
  }),
  efiBoot: boolean({
    env: "EFI_BOOT",
    description: "Rufio's spelling: true is MODE=uefi, false is MODE=legacy",
  }),
};

type BootModeInput = InputOf<typeof bootModeInput>;

export function checkBootMode({ mode, efiBoot }: BootModeInput): readonly string[] {
  const differs = mode !== undefined && efiBoot !== undefined && mode !== spelled(efiBoot);
  return differs ? [`MODE=${mode} and EFI_BOOT=${efiBoot} contradict each other: set only one`] : [];
}

export function bootModeOf({ mode, efiBoot }: Partial<BootModeInput>): BootModeChoice {
  return mode ?? (efiBoot === undefined ? "keep" : spelled(efiBoot));
}

const spelled = (efiBoot: boolean) => (efiBoot ? "uefi" : "legacy");
