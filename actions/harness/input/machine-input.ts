import { MEDIA_TYPES, mediaTypeOf, parseImageAddress } from "../../../shared/bmc/operations/image-address.ts";
import type { MediaDrive, MediaOptions } from "../../../shared/bmc/operations/media.ts";
import { ASSUMED_POWER } from "../../../shared/contract/dry-run.ts";
import type { BootModeChoice } from "../../../shared/contract/vocabulary.ts";
import { defined } from "../../../shared/defined.ts";
import {
  boolean,
  choice,
  duration,
  type InputOf,
  type NameInput,
  parsedText,
  secret,
  secretFile,
  text,
} from "./input.ts";

/** The boot mode in this project's terms and in Rufio's. */
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

/** The inputs of every action that changes the power. */
export const powerInput = {
  stateTimeout,
  assumedPower: choice(["on", "off"], {
    env: ASSUMED_POWER,
    description: "Only in a dry run: the power state to plan for, instead of the present one",
  }),
};

/** The expected form of an image URL. It has no credentials, because the BMC's answers, logs and results show the URL. */
export const MEDIA_URL_EXPECTED =
  "is not an http, https, nfs, cifs or smb URL of an image, host:/path or //host/share/path, without credentials";

const readMediaUrl = (given: string) => {
  const url = given.trim();
  return parseImageAddress(url) ? url : undefined;
};

/** The virtual drive to use. */
export const mediaDriveInput = {
  mediaDrive: text({
    env: "MEDIA_DRIVE",
    description: "Name of the virtual drive, as list-virtual-media shows it; chosen by type if empty",
    // A vendor's ID or the path of the resource.
    pattern: /^[\x21-\x7e][\x20-\x7e]{0,255}$/,
    expected: "is not the name of a virtual drive",
  }),
  mediaType: choice(MEDIA_TYPES, {
    env: "MEDIA_TYPE",
    description: "What is in the drive: a CD or DVD, or a USB stick",
  }),
};

/** An image and the credentials with which the BMC fetches it. */
export const mediaInput = {
  mediaUrl: parsedText({
    env: "MEDIA_URL",
    description: "Address of the image; the BMC must be able to reach it",
    read: readMediaUrl,
    expected: `${MEDIA_URL_EXPECTED}; for credentials set MEDIA_USERNAME and MEDIA_PASSWORD_FILE`,
    required: true,
  }),
  ...mediaDriveInput,
  mediaUsername: text({
    env: "MEDIA_USERNAME",
    description: "Login name at the image server, with the domain as in domain\\name; anonymous if empty",
    pattern: /^[^\p{Cc}\s]{1,128}$/u,
    expected: "is not a login name: up to 128 characters without blanks",
  }),
  mediaPassword: secret({ env: "MEDIA_PASSWORD", description: "Password at the image server" }),
  mediaPasswordFile: secretFile({
    env: "MEDIA_PASSWORD_FILE",
    description: "A file that contains the password at the image server",
  }),
  mediaWritable: boolean({
    env: "MEDIA_WRITABLE",
    description: "Let the machine write to a USB stick",
    default: "false",
  }),
};

type MediaInput = InputOf<typeof mediaInput>;
type MediaDriveInput = InputOf<typeof mediaDriveInput>;

export function checkMedia(input: MediaInput, nameInput: NameInput): readonly string[] {
  const { mediaUrl, mediaType, mediaUsername, mediaPassword, mediaPasswordFile, mediaWritable } = input;
  const file = nameInput("MEDIA_PASSWORD_FILE");
  const user = nameInput("MEDIA_USERNAME");
  const hasPassword = (mediaPassword ?? mediaPasswordFile) !== undefined;
  const problems: string[] = [];
  if (mediaPassword && mediaPasswordFile) {
    problems.push(`MEDIA_PASSWORD and ${file} are both set: set only one`);
  }
  if (mediaUsername !== undefined && !hasPassword) {
    problems.push(`MEDIA_PASSWORD or ${file} is missing: the password of ${user}`);
  }
  if (mediaUsername === undefined && hasPassword) {
    problems.push(`${user} is missing: the login name of the password`);
  }
  if (mediaWritable && (mediaType ?? mediaTypeOf(mediaUrl)) !== "usb") {
    problems.push(`${nameInput("MEDIA_WRITABLE", "true")} has no effect on a CD`);
  }
  return problems;
}

export function mediaDriveOf({ mediaDrive: name, mediaType: type }: MediaDriveInput): MediaDrive {
  return defined({ name, type });
}

export function mediaOptionsOf(input: MediaInput): MediaOptions {
  const { mediaUsername: username, mediaPassword, mediaPasswordFile, mediaWritable } = input;
  const password = mediaPassword ?? mediaPasswordFile;
  const isGiven = username !== undefined && password !== undefined;
  return {
    drive: mediaDriveOf(input),
    writable: mediaWritable,
    ...(isGiven ? { credentials: { username, password } } : {}),
  };
}
