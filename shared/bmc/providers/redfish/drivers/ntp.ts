import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { NtpDriver, NtpRequest, NtpSettings } from "../../../operations/ntp.ts";
import { uncertainty } from "../../../operations/read-back.ts";
import { findNetworkProtocol } from "../resources/network-protocol.ts";
import type { Resources } from "../resources/resources.ts";
import {
  type Described,
  SettingsLink,
  type SettingsWrite,
  settingsWrite,
  writeSettings,
} from "../resources/settings-place.ts";
import { describeWrite } from "../resources/writer.ts";
import { lenient, Values } from "../service/schema.ts";

/**
 * NTP in the manager's network protocols, otherwise in the resources of Dell, HPE and Supermicro. Some iDRACs accept the
 * standard properties and ignore them (dsx-ai-factory/libredfish pull request 87), so Dell's own resource comes first there.
 */
export function redfishNtp(options: Resources): NtpDriver {
  const find = async (signal: AbortSignal): Promise<NtpPlace> => {
    const isDell = /^dell\b/i.test(options.system.identity.manufacturer);
    const standard = [findStandardNtp, findHpeNtp, findDellNtp, findSupermicroNtp];
    for (const findNtp of isDell ? [findDellNtp, ...standard] : standard) {
      const place = await findNtp(options, signal);
      if (place) return place;
    }
    throw new BmcError("unsupported", "the BMC offers no NTP settings");
  };
  const change = async (request: NtpRequest, signal: AbortSignal): Promise<SettingsWrite> => {
    const { resource, body } = await find(signal);
    return await settingsWrite(options.system.service, resource, body(request), signal);
  };
  return {
    read: async (signal) => (await find(signal)).settings,
    plan: async (request, signal) => describeWrite((await change(request, signal)).request),
    async write(request, signal) {
      try {
        await writeSettings(options, await change(request, signal), signal);
      } catch (thrown) {
        const refused = BmcError.from(thrown);
        const mayHelp = (refused.class === "bmc" || refused.class === "unsupported") && !refused.uncertain;
        const restore = mayHelp
          ? await leaveDhcpServers(options, signal).catch((failed: unknown) => {
              signal.throwIfAborted();
              const reason = BmcError.from(failed).message;
              options.log.debug({ reason }, "UseNTPServers not switched off");
              return undefined;
            })
          : undefined;
        if (!restore) throw thrown;
        try {
          await writeSettings(options, await change(request, signal), signal);
        } catch (again) {
          await restore();
          throw again;
        }
      }
    },
    hasDhcp: (signal) => hasDhcp(options, signal),
  };
}

const MOST_INTERFACES = 16;
const Dhcp = z.object({ DHCPEnabled: lenient(z.boolean()), UseNTPServers: lenient(z.boolean()) });
const DhcpV6 = z.object({ OperatingMode: lenient(z.string()), UseNTPServers: lenient(z.boolean()) });

/** The fields of EthernetInterface (DSP0268) about DHCP's time servers. */
const EthernetInterface = z.object({ DHCPv4: lenient(Dhcp), DHCPv6: lenient(DhcpV6) });

async function hasDhcp(
  { system, manager, members }: Resources,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { value } = await manager.seen(signal);
  const path = system.service.localPath(value.EthernetInterfaces?.["@odata.id"]);
  let isWhole = true;
  const unread = () => {
    isWhole = false;
  };
  const limits = { members: MOST_INTERFACES, requests: { left: MOST_INTERFACES + 2 }, unread };
  const found = path === undefined ? undefined : await members.read(path, EthernetInterface, signal, limits);
  const known = found?.filter(({ value: { DHCPv4, DHCPv6 } }) => DHCPv4 ?? DHCPv6) ?? [];
  if (known.length === 0) return undefined;
  const isFound = known.some(
    ({ value: { DHCPv4: v4, DHCPv6: v6 } }) =>
      (v4?.DHCPEnabled === true && v4.UseNTPServers !== false) ||
      (v6?.OperatingMode !== undefined && v6.OperatingMode !== "Disabled" && v6.UseNTPServers !== false),
  );
  return isFound || isWhole ? isFound : undefined;
}

/**
 * Makes the interfaces ignore time servers from DHCP. While they use them, iLO refuses others
 * (HewlettPackard/python-ilorest-library issue 25). Returns a function that undoes it; undefined if there is nothing to
 * undo.
 */
async function leaveDhcpServers(
  { system, manager, members, writer }: Resources,
  signal: AbortSignal,
): Promise<(() => Promise<void>) | undefined> {
  const { value } = await manager.seen(signal);
  const path = system.service.localPath(value.EthernetInterfaces?.["@odata.id"]);
  const found = path === undefined ? undefined : await members.read(path, EthernetInterface, signal);
  const using = (found ?? []).slice(0, MOST_INTERFACES).flatMap(({ path: own, etag, value: dhcp }) => {
    const versions = (["DHCPv4", "DHCPv6"] as const).filter((name) => dhcp[name]?.UseNTPServers === true);
    return versions.length > 0 ? [{ own, etag, versions }] : [];
  });
  if (using.length === 0) return undefined;
  const set = async (UseNTPServers: boolean) => {
    for (const { own, etag, versions } of using) {
      const body = Object.fromEntries(versions.map((name) => [name, { UseNTPServers }]));
      const tag = UseNTPServers ? undefined : etag;
      const request = { method: "PATCH", path: own, body, etag: tag } as const;
      // The time servers show the effect, whatever else an accepting answer says.
      const doubt = await uncertainty(async () => {
        await writer.write(request, signal);
      });
      if (doubt && doubt.class !== "verify") throw doubt;
    }
  };
  await set(false);
  return () => set(true);
}

/** One resource with a BMC's NTP settings, with its latest content. */
interface NtpPlace {
  readonly settings: NtpSettings;
  readonly resource: Described;
  /** The body that sets them. Throws `unsupported` for more servers than the resource accepts. */
  body(asked: NtpRequest): object;
}

/** The fields of ManagerNetworkProtocol (DSP0268) about NTP. */
const NetworkProtocol = z.object({
  "@odata.etag": lenient(z.string()),
  "@Redfish.Settings": SettingsLink,
  NTP: lenient(z.object({ ProtocolEnabled: lenient(z.boolean()), NTPServers: lenient(Values) })),
});

/** The standard resource; undefined if the manager has no NTP in its network protocols. */
async function findStandardNtp(
  { system, manager }: Resources,
  signal: AbortSignal,
): Promise<NtpPlace | undefined> {
  const found = await findNetworkProtocol({ system, manager }, NetworkProtocol, signal);
  const ntp = found?.value.NTP;
  // Other properties, such as the port, are not settings.
  if (!found || (ntp?.ProtocolEnabled ?? ntp?.NTPServers) === undefined) return undefined;
  return {
    resource: found,
    settings: {
      enabled: ntp?.ProtocolEnabled ?? false,
      // Some BMCs list a fixed number of servers, with empty unused ones.
      servers: (ntp?.NTPServers ?? []).map((server) => server.trim()).filter((server) => server !== ""),
    },
    body: ({ enabled, servers }) => ({ NTP: defined({ ProtocolEnabled: enabled, NTPServers: servers }) }),
  };
}

const SERVER_ATTRIBUTES = ["NTPConfigGroup.1.NTP1", "NTPConfigGroup.1.NTP2", "NTPConfigGroup.1.NTP3"];
const ENABLE_ATTRIBUTE = "NTPConfigGroup.1.NTPEnable";

const DellAttributes = z.object({
  "@odata.etag": lenient(z.string()),
  Attributes: z.record(z.string(), z.unknown()),
});

/** iDRAC's own attributes, for firmware without NTP in its network protocols; undefined for other vendors. */
async function findDellNtp(
  { system, manager }: Resources,
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
    resource: { path: found.path, etag: found.etag, value: {} },
    settings: {
      enabled: attributes[ENABLE_ATTRIBUTE] === "Enabled",
      servers: SERVER_ATTRIBUTES.map((name) => attributes[name])
        .filter((server) => typeof server === "string")
        .filter((server) => server !== ""),
    },
    body({ enabled, servers }) {
      if (servers && servers.length > SERVER_ATTRIBUTES.length) {
        throw new BmcError("unsupported", `the BMC takes ${SERVER_ATTRIBUTES.length} NTP servers at most`);
      }
      const named = servers ? SERVER_ATTRIBUTES.map((name, index) => [name, servers[index] ?? ""]) : [];
      return {
        Attributes: { [ENABLE_ATTRIBUTE]: enabled ? "Enabled" : "Disabled", ...Object.fromEntries(named) },
      };
    },
  };
}

const HpeDateTime = z.object({
  "@odata.etag": lenient(z.string()),
  ConfigurationSettings: lenient(z.string()),
  StaticNTPServers: z.pipe(
    z.array(z.unknown()),
    z.transform((all: unknown[]) => all.map(String)),
  ),
});

/**
 * iLO's date and time service (HpeiLODateTime): a fixed number of servers, with empty unused ones, and no switch. iLO
 * refuses servers while DHCP provides them, and uses new ones after its reset. Undefined for other vendors.
 */
async function findHpeNtp(
  { system, manager, log }: Resources,
  signal: AbortSignal,
): Promise<NtpPlace | undefined> {
  const { service } = system;
  const { value, path: managerPath } = await manager.seen(signal);
  const oem = value.Oem?.Hpe ?? value.Oem?.Hp;
  if (!oem && !/^hpe?\b/i.test(system.identity.manufacturer)) return undefined;
  const link = oem?.Links?.DateTimeService?.["@odata.id"];
  const path = service.localPath(link) ?? `${managerPath}/DateTime`;
  const found = await service.find(path, HpeDateTime, signal);
  if (!found) return undefined;
  const slots = found.value.StaticNTPServers;
  const servers = slots.map((server) => server.trim()).filter((server) => server !== "");
  if (found.value.ConfigurationSettings === "SomePendingReset") {
    log.warn({ path }, "BMC settings pending until its reset");
  }
  return {
    resource: { path: found.path, etag: found.etag, value: {} },
    settings: { enabled: servers.length > 0, servers },
    body(asked) {
      const wanted = asked.enabled ? (asked.servers ?? servers) : [];
      if (!asked.enabled && asked.servers?.length) {
        throw new BmcError("unsupported", "the BMC keeps no NTP servers while NTP is off");
      }
      if (asked.enabled && wanted.length === 0) {
        throw new BmcError("unsupported", "the BMC cannot enable NTP without servers");
      }
      if (wanted.length > slots.length) {
        throw new BmcError("unsupported", `the BMC takes ${slots.length} NTP servers at most`);
      }
      return { StaticNTPServers: slots.map((_, index) => wanted[index] ?? "") };
    },
  };
}

const SupermicroNtp = z.object({
  "@odata.etag": lenient(z.string()),
  NTPEnable: z.boolean(),
  PrimaryNTPServer: lenient(z.string()),
  SecondaryNTPServer: lenient(z.string()),
});

/**
 * Supermicro X10 and X11 before they had the standard resource: a primary and a secondary server. Undefined for other
 * vendors.
 */
async function findSupermicroNtp(
  { system, manager }: Resources,
  signal: AbortSignal,
): Promise<NtpPlace | undefined> {
  if (!/^super\s*micro/i.test(system.identity.manufacturer)) return undefined;
  const { path: managerPath } = await manager.seen(signal);
  const found = await system.service.find(`${managerPath.replace(/\/$/, "")}/NTP`, SupermicroNtp, signal);
  if (!found) return undefined;
  const { NTPEnable, PrimaryNTPServer = "", SecondaryNTPServer = "" } = found.value;
  return {
    resource: { path: found.path, etag: found.etag, value: {} },
    settings: {
      enabled: NTPEnable,
      servers: [PrimaryNTPServer, SecondaryNTPServer].filter((server) => server.trim() !== ""),
    },
    body({ enabled, servers }) {
      if (servers && servers.length > 2) {
        throw new BmcError("unsupported", "the BMC takes 2 NTP servers at most");
      }
      const [primary = "", secondary = ""] = servers ?? [];
      const named = servers ? { PrimaryNTPServer: primary, SecondaryNTPServer: secondary } : {};
      return { NTPEnable: enabled, ...named };
    },
  };
}
