import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("bmc-info", {
  keywords: ["bmc", "firmware", "version"],
  readsOnly: true,
  mostRoundTrips: { redfish: 4, ipmi: 4 },
  output: {
    data: z
      .strictObject({
        vendor: z.string().optional().describe("The manufacturer"),
        model: z.string().optional().describe("The model; with IPMI the product number"),
        firmware: z.string().optional().describe("The firmware version"),
        protocolVersion: z.string().optional().describe("The Redfish or IPMI version"),
        serial: z.string().optional().describe("The BMC's own serial number, not the machine's"),
        uuid: z.string().optional().describe("With Redfish the BMC's, with IPMI the system's"),
      })
      .describe("What the BMC reports about itself; fields that it does not report are absent"),
  },
  result: {
    message: "Contoso BMC-2000, firmware 1.45.455 via redfish",
    changed: false,
    durationMs: 241,
    roundTrips: 4,
    data: {
      vendor: "Contoso",
      model: "BMC-2000",
      firmware: "1.45.455",
      protocolVersion: "1.11.0",
      uuid: "3a2b1c00-0000-4000-8000-00000000b3c0",
    },
  },
});
