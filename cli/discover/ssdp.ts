import { createSocket, type Socket } from "node:dgram";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Target } from "./bmc.ts";
import { isUnicast } from "./targets.ts";

/** DSP0266, "Discovery": the search target, the group and its port. */
const SEARCH_TARGET = "urn:dmtf-org:service:redfish-rest:1";
const GROUP = { address: "239.255.255.250", port: 1_900 };
/** Seconds within which services answer, each after a random time. */
const ANSWER_SECONDS = 3;
/** UPnP Device Architecture 2.0 section 1.3.2: UDP is unreliable, so send more than one. */
const COPIES = 2;
const PAUSE_MS = 500;
const MOST_REPLY_BYTES = 4_096;
const MOST_SERVICES = 4_096;

export interface SsdpOptions {
  readonly clock: Clock;
  /** Default: Redfish's group. */
  readonly group?: typeof GROUP;
  /** Local addresses to search from. Default: those of all interfaces but loopback. */
  readonly interfaces?: readonly string[];
}

/**
 * Searches the local networks for Redfish services with SSDP, IPv4 only. A reply is not believed: its sender is an address to
 * probe, and its port counts only if the URL in `AL` is the sender's own. Rejects only when the signal aborts.
 */
export async function searchSsdp(
  { clock, group = GROUP, interfaces = localAddresses() }: SsdpOptions,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const services = new Map<string, Target>();
  const sockets = await Promise.all(
    interfaces.map((address) =>
      openSocket(address, (reply, sender) => {
        if (services.size >= MOST_SERVICES || !isUnicast(sender)) return;
        const target = readReply(reply, sender);
        if (target) services.set(sender, target);
      }),
    ),
  );
  const search = searchMessage(group);
  try {
    for (let copy = 0; copy < COPIES; copy += 1) {
      // A network that takes no multicast answers nothing.
      const ignored = (_: Error | null) => undefined;
      for (const socket of sockets) socket?.send(search, group.port, group.address, ignored);
      await clock.sleep(copy < COPIES - 1 ? PAUSE_MS : (ANSWER_SECONDS + 1) * 1_000, signal);
    }
  } finally {
    for (const socket of sockets) socket?.close();
  }
  return [...services.values()];
}

function searchMessage({ address, port }: typeof GROUP): string {
  const lines = [
    "M-SEARCH * HTTP/1.1",
    `HOST: ${address}:${port}`,
    'MAN: "ssdp:discover"',
    `MX: ${ANSWER_SECONDS}`,
    `ST: ${SEARCH_TARGET}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** The target of a reply; undefined unless it is a Redfish service's. */
export function readReply(reply: Buffer, sender: string): Target | undefined {
  if (reply.length > MOST_REPLY_BYTES) return undefined;
  const [status = "", ...lines] = reply.toString("latin1").split("\r\n");
  if (!/^HTTP\/1\.1 200\b/.test(status)) return undefined;
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, Math.max(colon, 0)).toUpperCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  if (headers.get("ST") !== SEARCH_TARGET || !headers.get("USN")?.includes(SEARCH_TARGET)) return undefined;
  const url = URL.parse((headers.get("AL") ?? "").replace(/^<(.*)>$/, "$1"));
  const isOwn = url?.protocol === "https:" && url.hostname === sender && url.port !== "";
  return { host: sender, ...defined({ redfishPort: isOwn ? Number(url.port) : undefined }) };
}

/** Undefined if the address cannot be used. */
function openSocket(
  address: string,
  receive: (reply: Buffer, sender: string) => void,
): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    const giveUp = () => {
      socket.close();
      resolve(undefined);
    };
    socket.once("error", giveUp);
    socket.on("message", (reply, sender) => receive(reply, sender.address));
    socket.bind(0, address, () => {
      socket.off("error", giveUp).on("error", () => undefined);
      try {
        socket.setMulticastInterface(address);
        resolve(socket);
      } catch {
        // The interface has lost the address meanwhile.
        giveUp();
      }
    });
  });
}

function localAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flat()
    .filter((found) => found?.family === "IPv4" && !found.internal)
    .map((found) => found?.address ?? "");
}
