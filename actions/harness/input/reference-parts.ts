import { z } from "zod";
import { SECURE_BOOT_DATABASES } from "../../../shared/bmc/operations/secure-boot-key.ts";
import { BootDevice, BootMode, PowerState } from "../../../shared/contract/vocabulary.ts";
import { USER_ROLES } from "./user-input.ts";

/** Parts of the results of several actions, for their references. */

export const powerState = z
  .enum(PowerState.options)
  .describe("The power state as read; a transitional or invalid state is unknown");

export const bootOverride = z
  .strictObject({
    device: z.enum([...BootDevice.options, "unknown"]).describe("What to boot from; none is no override"),
    persistent: z
      .boolean()
      .optional()
      .describe(
        "Whether it persists; false means once. Absent if there is no override or the BMC does not report it",
      ),
    mode: z.enum(BootMode.options).optional().describe("Absent if the BMC does not report it"),
  })
  .describe("The boot override as read");

export const mediaState = z
  .strictObject({
    inserted: z.boolean().describe("Whether an image is in the drive"),
    image: z
      .string()
      .optional()
      .describe("Its URL; absent if the drive is empty or the BMC does not report it"),
    drive: z
      .string()
      .optional()
      .describe("The drive's name; absent unless it was named or takes a USB stick"),
    connected: z
      .literal(false)
      .optional()
      .describe("False if the BMC reports an image without a connection to its server; otherwise absent"),
    writeProtected: z
      .boolean()
      .optional()
      .describe("Whether the machine cannot write to the USB stick; absent if the BMC does not report it"),
    unread: z
      .array(z.strictObject({ name: z.string(), reason: z.string() }))
      .optional()
      .describe("Other drives that could not be read, and why"),
  })
  .describe("The virtual drive as read; absent if a provider cannot read it");

export const ntpSettings = z
  .strictObject({
    enabled: z.boolean().describe("Whether the BMC uses the time servers"),
    servers: z.array(z.string()).describe("Names and addresses, in the BMC's order"),
  })
  .describe("The time servers as read");

export const networkSettings = z
  .strictObject({
    id: z.string().describe("The BMC's name of it, as `INTERFACE` takes it; the channel number with IPMI"),
    mac: z.string().optional().describe("MAC address"),
    mode: z
      .enum(["static", "dhcp", "other"])
      .optional()
      .describe("Where the address comes from; other is neither, such as the BIOS"),
    address: z.string().optional().describe("IPv4 address"),
    prefix: z.int().optional().describe("Length of the subnet's prefix"),
    gateway: z.string().optional().describe("IPv4 address; absent also if there is none"),
    vlan: z
      .union([z.int(), z.literal("off")])
      .optional()
      .describe("VLAN ID; absent if the BMC has no VLANs"),
    hostName: z.string().optional().describe("Without domain; not with IPMI"),
  })
  .describe("The network interface as read; what the BMC does not report is absent");

export const secureBootState = z
  .strictObject({
    enabled: z.boolean().describe("Whether it is on from the next boot"),
    active: z
      .boolean()
      .optional()
      .describe("Whether the last boot used it; absent if the BMC does not report it"),
    mode: z
      .enum(["setup", "user", "audit", "deployed"])
      .optional()
      .describe("In setup mode there is no platform key; absent if the BMC does not report it"),
  })
  .describe("UEFI Secure Boot as read");

export const secureBootKeys = z
  .array(
    z.strictObject({
      database: z.enum(SECURE_BOOT_DATABASES).describe("Which database has it"),
      kind: z.enum(["certificate", "signature"]).describe("What it is"),
      id: z.string().describe("The BMC's ID of it, unique among its kind; a deletion may give new ones"),
      fingerprint: z
        .string()
        .optional()
        .describe("SHA-256 of the certificate, or the signature, in hex; absent if the BMC does not send it"),
      subject: z.string().optional().describe("Common name of a certificate"),
      issuer: z.string().optional().describe("Common name of its issuer"),
      notAfter: z.string().optional().describe("When a certificate expires, ISO 8601"),
      owner: z.string().optional().describe("GUID of its owner"),
    }),
  )
  .describe("The keys as read");

/** A user in the results of several actions, for their references. */
export const bmcUser = z.strictObject({
  id: z.string().describe("The BMC's ID of the user: a path with Redfish, a slot number with IPMI"),
  name: z.string().describe("The login name"),
  role: z
    .enum([...USER_ROLES, "none", "unknown"])
    .describe("The role: none has no permissions, unknown is a role that only the BMC defines"),
  enabled: z.boolean().describe("Whether the user can log in"),
});

export const firmwareItem = z.strictObject({
  id: z.string().describe("The BMC's name of it, as `TARGETS` takes it"),
  name: z.string().describe("Its title"),
  version: z.string().optional().describe("Absent if the BMC does not report it"),
  state: z
    .enum(["standby", "updating"])
    .optional()
    .describe("Absent if it is in use, or if the BMC does not say"),
  updateable: z.boolean().optional().describe("Whether the BMC can update it; absent if it does not say"),
  related: z.array(z.string()).describe("Paths of what it belongs to"),
});

const biosAttributes = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

export const biosState = z
  .strictObject({
    attributes: biosAttributes.describe("As the last boot left them, by name"),
    pending: biosAttributes.describe("Those that the next boot changes, with their new values"),
    registry: z
      .string()
      .optional()
      .describe("The BMC's name of the registry that describes them; absent if it names none"),
    scheduled: z
      .literal(false)
      .optional()
      .describe("False if no job applies `pending` at the next boot; otherwise absent"),
  })
  .describe("BIOS attributes as read, without passwords");

export const raidVolumes = z
  .array(
    z.strictObject({
      controller: z.string().describe("The ID of its controller"),
      id: z.string().describe("Unique among the volumes of its controller"),
      name: z.string().describe("Empty if the BMC reports none"),
      level: z.string().optional().describe("As the BMC calls it; absent if it reports none"),
      drives: z.array(z.string()).describe("IDs of its drives"),
      bytes: z.number().min(0).optional().describe("Its size; absent if the BMC reports none"),
    }),
  )
  .describe("The volumes of all controllers");

export const raidData = z.strictObject({
  pending: z.boolean().describe("Whether the BMC keeps a change for the next boot"),
});

/** The field of a result that lists what could not be read. */
export const unread = (description: string) =>
  z
    .array(
      z.strictObject({
        name: z.string().describe("What it is, such as its path"),
        reason: z.string().describe("Why, in one line"),
      }),
    )
    .optional()
    .describe(description);
