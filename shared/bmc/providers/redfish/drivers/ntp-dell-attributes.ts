import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { lenient } from "../service/schema.ts";
import type { NtpOptions, NtpPlace } from "./ntp-place.ts";

const SERVER_ATTRIBUTES = ["NTPConfigGroup.1.NTP1", "NTPConfigGroup.1.NTP2", "NTPConfigGroup.1.NTP3"];
const ENABLE_ATTRIBUTE = "NTPConfigGroup.1.NTPEnable";

const DellAttributes = z.object({
  "@odata.etag": lenient(z.string()),
  Attributes: z.record(z.string(), z.unknown()),
});

/** iDRAC's own attributes, for firmware without NTP in its network protocols; undefined on other makes. */
export async function findDellNtp(
  { system, manager }: NtpOptions,
  signal: AbortSignal,
): Promise<NtpPlace | undefined> {
  const { service } = system;
  const { value, path: managerPath } = await manager.seen(signal);
  const dell = value.Links?.Oem?.Dell;
  if (!dell && !/^dell\b/i.test(system.identity.manufacturer)) return undefined;
  const link = dell?.DellAttributes.find((entry) =>
    /iDRAC/i.test(entry["@odata.id"].split("/").at(-1) ?? ""),
  );
  const path = service.localPath(link?.["@odata.id"]) ?? `${managerPath}/Attributes`;
  const found = await service.find(path, DellAttributes, signal);
  const attributes = found?.value.Attributes;
  if (!found || attributes?.[ENABLE_ATTRIBUTE] === undefined) return undefined;
  return {
    settings: {
      enabled: attributes[ENABLE_ATTRIBUTE] === "Enabled",
      servers: SERVER_ATTRIBUTES.map((name) => attributes[name])
        .filter((server) => typeof server === "string")
        .filter((server) => server !== ""),
    },
    request({ enabled, servers }) {
      if (servers && servers.length > SERVER_ATTRIBUTES.length) {
        throw new BmcError("unsupported", `the BMC takes ${SERVER_ATTRIBUTES.length} NTP servers at most`);
      }
      const named = servers ? SERVER_ATTRIBUTES.map((name, index) => [name, servers[index] ?? ""]) : [];
      const body = {
        Attributes: { [ENABLE_ATTRIBUTE]: enabled ? "Enabled" : "Disabled", ...Object.fromEntries(named) },
      };
      return { method: "PATCH", path: found.path, body, etag: found.etag };
    },
  };
}
