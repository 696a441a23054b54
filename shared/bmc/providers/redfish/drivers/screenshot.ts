import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { ScreenshotDriver } from "../../../operations/screenshot.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite } from "../resources/writer.ts";
import { lenient } from "../service/schema.ts";

/** A screen of 1920 x 1200 as PNG in Base64 is smaller than this. */
const MAX_BYTES = 16 * 1_048_576;
const BODY = { FileType: "ServerScreenShot" };
const ACTION = "#DellLCService.ExportServerScreenShot";

const DellLCService = z.object({
  Actions: lenient(z.object({ [ACTION]: lenient(z.object({ target: lenient(z.string()) })) })),
});
const Exported = z.object({ ServerScreenShotFile: z.string().check(z.minLength(1)) });

/** Screenshots of iDRAC9 and later (iDRAC9 Redfish API guide, DellLCService). Redfish itself has none. */
export function redfishScreenshot({ system, manager, writer }: Resources): ScreenshotDriver {
  const target = async (signal: AbortSignal): Promise<string> => {
    const { service } = system;
    const link = (await manager.seen(signal)).value.Links?.Oem?.Dell?.DellLCService?.["@odata.id"];
    const path = service.localPath(link);
    const found = path === undefined ? undefined : await service.find(path, DellLCService, signal);
    const action = service.localPath(found?.value.Actions?.[ACTION]?.target);
    if (action === undefined) throw new BmcError("unsupported", "the BMC offers no screenshot");
    return action;
  };
  return {
    async offered(signal) {
      await target(signal);
      return true;
    },
    plan: async (signal) => describeWrite({ method: "POST", path: await target(signal), body: BODY }),
    async take(signal) {
      const path = await target(signal);
      const request = {
        method: "POST",
        path,
        body: BODY,
        maxBytes: MAX_BYTES,
        wantsBody: true,
        effect: "setting",
      } as const;
      const answer = await writer.write(request, signal);
      const exported = Exported.safeParse(answer.body);
      if (!exported.success) throw new BmcError("protocol", `POST ${path} answered without a screenshot`);
      const bytes = Buffer.from(exported.data.ServerScreenShotFile, "base64");
      return { mediaType: mediaTypeOf(bytes, path), bytes };
    },
  };
}

/** The media type; firmware versions differ in the format. */
function mediaTypeOf(bytes: Buffer, path: string): string {
  if (bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]))) return "image/png";
  if (bytes.subarray(0, 2).equals(Buffer.from([0xff, 0xd8]))) return "image/jpeg";
  throw new BmcError("protocol", `POST ${path} answered with neither PNG nor JPEG`);
}
