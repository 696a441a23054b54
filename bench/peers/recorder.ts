import { dice } from "../../test/support/dice.ts";
import type { Direction } from "../../test/support/proxy/direction.ts";
import { startTcpProxy, type TcpProxy } from "../../test/support/proxy/tcp-proxy.ts";
import { startUdpProxy, UdpProxy } from "../../test/support/proxy/udp-proxy.ts";

export type Protocol = "redfish" | "ipmi";

/** The way between a peer and a BMC. */
export interface Network {
  readonly title: string;
  readonly roundTripMs: number;
  /** Share (0 to 1) of datagrams that are lost, or of parts of a TCP stream that have to be sent again. */
  readonly loss: number;
}

/** Linux' shortest wait before TCP sends a segment again (`TCP_RTO_MIN`): a program cannot drop segments of loopback itself. */
const SENT_AGAIN_MS = 200;

/** What passed since the recorder started, or was last asked to forget. */
interface Counts {
  /** HTTP requests, or round trips of IPMI. */
  readonly requests: number;
  /** 0 for IPMI. */
  readonly connections: number;
  /** UDP datagrams; of TCP, parts of the stream as the system hands them over. */
  readonly packets: number;
  /** Both ways, without the headers of IP, TCP and UDP. */
  readonly bytes: number;
}

export interface Recorder {
  readonly port: number;
  readonly counts: Counts;
  /** When the first packet from the client came, by `performance.now()`. */
  readonly firstMs: number | undefined;
  forget(): void;
  close(): Promise<void>;
}

/** A proxy in front of a BMC's port, on loopback, that counts and delays packets. Equal seeds lose equal packets. */
export async function startRecorder(
  protocol: Protocol,
  port: number,
  { roundTripMs, loss }: Network,
  seed: number,
): Promise<Recorder> {
  const seen: { packets: number; bytes: number; firstMs: number | undefined } = {
    packets: 0,
    bytes: 0,
    firstMs: undefined,
  };
  const onPassed = (_: unknown, bytes: number) => {
    seen.packets += 1;
    seen.bytes += bytes;
    seen.firstMs ??= performance.now();
  };
  const proxy = await startProxy(protocol, port, { roundTripMs, loss }, seed, onPassed);
  return {
    port: proxy.port,
    get counts() {
      const { packets, bytes } = seen;
      if (proxy instanceof UdpProxy) return { requests: proxy.roundTrips, connections: 0, packets, bytes };
      return { requests: proxy.requests.length, connections: proxy.connections, packets, bytes };
    },
    get firstMs() {
      return seen.firstMs;
    },
    forget() {
      proxy.forget();
      Object.assign(seen, { packets: 0, bytes: 0, firstMs: undefined });
    },
    close: () => proxy.close(),
  };
}

async function startProxy(
  protocol: Protocol,
  port: number,
  { roundTripMs, loss }: Omit<Network, "title">,
  seed: number,
  onPassed: (direction: Direction, bytes: number) => void,
): Promise<TcpProxy | UdpProxy> {
  const latencyMs = roundTripMs / 2;
  if (protocol === "ipmi") return startUdpProxy({ port, network: { latencyMs, loss, seed }, onPassed });
  const roll = dice(seed);
  const heldUpMs = () => (loss > 0 && roll() < loss ? SENT_AGAIN_MS + roundTripMs : 0);
  return startTcpProxy({ port, latencyMs, onPassed, heldUpMs });
}
