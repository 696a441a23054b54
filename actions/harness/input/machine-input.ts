import type { BootModeChoice } from "../../../shared/contract/vocabulary.ts";
import { boolean, choice, duration, type InputOf, type NameInput, text } from "./input.ts";

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

export function checkBootMode({ mode, efiBoot }: BootModeInput, nameInput: NameInput): readonly string[] {
  if (mode === undefined || efiBoot === undefined || mode === spelled(efiBoot)) return [];
  const both = `${nameInput("MODE", mode)} and ${nameInput("EFI_BOOT", String(efiBoot))}`;
  return [`${both} contradict each other: set only one`];
}

export function bootModeOf({ mode, efiBoot }: Partial<BootModeInput>): BootModeChoice {
  return mode ?? (efiBoot === undefined ? "keep" : spelled(efiBoot));
}

const spelled = (efiBoot: boolean) => (efiBoot ? "uefi" : "legacy");

/** How long a machine may take to reach a power state. */
export const stateTimeout = duration({
  env: "STATE_TIMEOUT",
  description: "Time limit for the machine to reach the state",
  default: "120s",
});

/** Credentials have no place in it: the BMC's answers, logs and results show the URL. */
export const MEDIA_URL = {
  pattern: /^(https?|nfs|cifs|smb):\/\/[^\s/@?#]+\/[^\s@]*$/i,
  expected: "is not an http, https, nfs, cifs or smb URL of an image, without credentials",
};

export const mediaUrl = text({
  env: "MEDIA_URL",
  description: "URL of the image; the BMC must be able to reach it",
  ...MEDIA_URL,
  required: true,
});
