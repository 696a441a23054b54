import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import { Link, lenient, Values } from "../service/schema.ts";
import type { NtpOptions, NtpPlace } from "./ntp-place.ts";

/** ManagerNetworkProtocol (DSP0268), as far as NTP needs it. */
const NetworkProtocol = z.object({
  "@odata.etag": lenient(z.string()),
  "@Redfish.Settings": lenient(z.object({ SettingsObject: Link })),
  NTP: lenient(z.object({ ProtocolEnabled: lenient(z.boolean()), NTPServers: lenient(Values) })),
});

/** The standard place; undefined where the manager has no NTP in its network protocols. */
export async function findStandardNtp(
  { system, manager }: NtpOptions,
  signal: AbortSignal,
): Promise<NtpPlace | undefined> {
  const { service } = system;
  // Nearly every service names it so, which saves reading the manager.
  const guess = manager.path === undefined ? undefined : `${manager.path}/NetworkProtocol`;
  let found = guess === undefined ? undefined : await service.find(guess, NetworkProtocol, signal);
  if (!found) {
    const link = (await manager.seen(signal)).value.NetworkProtocol?.["@odata.id"];
    const path = service.localPath(link);
    found =
      path === undefined || path === guess ? undefined : await service.find(path, NetworkProtocol, signal);
  }
  const ntp = found?.value.NTP;
  if (!found || !ntp) return undefined;
  const settingsPath = service.localPath(found.value["@Redfish.Settings"]?.SettingsObject["@odata.id"]);
  const { path, etag } = found;
  return {
    settings: {
      enabled: ntp.ProtocolEnabled ?? false,
      // Some BMCs list a fixed number of servers, the unused ones empty.
      servers: (ntp.NTPServers ?? []).map((server) => server.trim()).filter((server) => server !== ""),
    },
    request({ enabled, servers }) {
      const body = { NTP: defined({ ProtocolEnabled: enabled, NTPServers: servers }) };
      const own = settingsPath === undefined;
      return { method: "PATCH", path: settingsPath ?? path, body, ...(own ? { etag } : {}) };
    },
  };
}
