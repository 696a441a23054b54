import * as z from "zod/mini";
import { BiosAttributeValues, isBiosPassword, namesProblem } from "./bios-attributes.ts";
import { reporting } from "./value-types.ts";
import { BootDevice } from "./vocabulary.ts";

const MOST_SERVERS = 16;
const MOST_COMPONENTS = 200;

/** The name or address of a time server. */
export const NTP_SERVER = /^[0-9A-Za-z:][0-9A-Za-z.:_-]{0,252}$/;
/** A version of firmware. */
export const FIRMWARE_VERSION = /^(?=.*\d)[^\p{Cc}\p{Cf}]{1,100}$/u;

/** The URI of a firmware image that a BMC fetches, without credentials. */
export const FIRMWARE_URI = /^(https?|ftp|sftp|tftp|scp|nfs|cifs):\/\/[^\s/@?#]+\/[^\s@]*$/i;
const LONGEST_URI = 2_000;

const Version = z.string().check(z.regex(FIRMWARE_VERSION, { error: "must be a version" }));
const Firmware = z.union(
  [
    Version,
    z.strictObject({
      version: Version,
      image: z
        .string()
        .check(
          z.regex(FIRMWARE_URI, { error: "must be the URI of an image, without credentials" }),
          z.maxLength(LONGEST_URI),
        ),
    }),
  ],
  {
    error: ({ input }) =>
      typeof input === "number"
        ? "must be text: put it in quotes"
        : "must be a version, or {version, image} with the URI of an image, without credentials",
  },
);

const NO_PASSWORDS =
  "has a password, which the inventory must not hold: set it in the BIOS or with the vendor's tool";

/** The machine's desired state. Absent fields may have any value. */
export const DesiredState = z.strictObject({
  /** Whether the worker corrects differences. */
  enforce: z.optional(z.boolean()),
  power: z.optional(z.enum(["on", "off"])),
  /** The boot override for every boot; `none` means no override. */
  bootDevice: z.optional(BootDevice),
  /** The time servers, in order of preference. */
  ntp: z.optional(
    z
      .array(z.string().check(z.regex(NTP_SERVER, { error: "must be the name or address of a time server" })))
      .check(
        z.minLength(1),
        reporting((servers) =>
          servers.length > MOST_SERVERS ? `must have at most ${MOST_SERVERS} servers` : undefined,
        ),
      ),
  ),
  /** Values of BIOS attributes, by name. */
  bios: z.optional(
    BiosAttributeValues.check(
      reporting((values) => (Object.keys(values).some(isBiosPassword) ? NO_PASSWORDS : undefined)),
    ),
  ),
  /** Versions by the component's name or ID. With an image, the worker installs it. */
  firmware: z.optional(
    z
      .record(z.string(), Firmware)
      .check(reporting((versions) => namesProblem(Object.keys(versions), MOST_COMPONENTS))),
  ),
});
export type DesiredState = z.infer<typeof DesiredState>;
