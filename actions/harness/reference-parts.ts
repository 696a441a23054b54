import { z } from "zod";
import { BootDevice, BootMode, PowerState } from "../../shared/contract/vocabulary.ts";

/** Parts of results that several actions have, for their references. */

export const powerState = z
  .enum(PowerState.options)
  .describe("The power as read; anything transitional or strange is unknown");

export const bootOverride = z
  .strictObject({
    device: z.enum([...BootDevice.options, "unknown"]).describe("What to boot from; none is no override"),
    persistent: z
      .boolean()
      .optional()
      .describe("Whether it lasts; false is once. Absent where there is no override or the BMC does not say"),
    mode: z.enum(BootMode.options).optional().describe("Absent where the BMC does not say"),
  })
  .describe("The boot override as read");

export const mediaState = z
  .strictObject({
    inserted: z.boolean().describe("Whether an image is in the drive"),
    image: z.string().optional().describe("Its URL; absent where the drive is empty or the BMC does not say"),
  })
  .describe("The virtual drive as read; absent where a provider cannot read it");

export const ntpSettings = z
  .strictObject({
    enabled: z.boolean().describe("Whether the BMC takes its time from the servers"),
    servers: z.array(z.string()).describe("Names and addresses, in the BMC's order"),
  })
  .describe("The time servers as read");
