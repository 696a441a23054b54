import { createSocket, type Socket } from "node:dgram";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Target } from "./bmc.ts";
import { isUnicast } from "./targets.ts";

/** DSP0266, "Discovery": the search target, the group and its port. */
const SEARCH_TARGET = "urn:dmtf-org:service:redfish-rest:1";
const GROUP = { address: "239.255.255.250", port: 1_900 };
/** The number of seconds within which services answer, each after a random delay. */
const ANSWER_SECONDS = 3;
/** UPnP Device Architecture 2.0 section 1.3.2: UDP is unreliable, so send more than one. */
const COPIES = 2;
const PAUSE_MS = 500;
const MOST_REPLY_BYTES = 4_096;
const MOST_SERVICES = 4_096;

export interface SsdpOptions {
  readonly clock: Clock;
  /** The group to search. Defaults to Redfish's group. */
  readonly group?: typeof GROUP;
  /** The local addresses to search from. Defaults to the addresses of all interfaces except loopback. */
  readonly interfaces?: readonly string[];
}

/**
 * Searches the local networks for Redfish services with SSDP over IPv4. Replies are not trusted: the sender of a reply is an
 * address to probe, and the port in its `AL` URL counts only if the URL has the sender's address. Rejects only when the
 * signal aborts.
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
      // A network without multicast answers nothing.
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

/** Returns the target of a reply, or undefined if the reply is not about a Redfish service. */
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

/** Opens a socket for one local address. Resolves to undefined if the address cannot be used. */
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
        // The interface has lost the address in the meantime.
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
