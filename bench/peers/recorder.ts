import { dice } from "../../test/support/dice.ts";
import { startTcpProxy } from "../../test/support/proxy/tcp-proxy.ts";
import { startUdpProxy } from "../../test/support/proxy/udp-proxy.ts";

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

/** A proxy in front of a BMC's port, on loopback, that counts and takes its time. The same seed loses the same packets. */
export async function startRecorder(
  protocol: Protocol,
  port: number,
  { roundTripMs, loss }: Network,
  seed: number,
): Promise<Recorder> {
  const latencyMs = roundTripMs / 2;
  const seen: { packets: number; bytes: number; firstMs: number | undefined } = {
    ...{ packets: 0, bytes: 0, firstMs: undefined },
  };
  const onPassed = (_: unknown, bytes: number) => {
    seen.packets += 1;
    seen.bytes += bytes;
    seen.firstMs ??= performance.now();
  };
  const forgetSeen = () => Object.assign(seen, { packets: 0, bytes: 0, firstMs: undefined });
  if (protocol === "ipmi") {
    const proxy = await startUdpProxy({ port, network: { latencyMs, loss, seed }, onPassed });
    return {
      port: proxy.port,
      get counts() {
        return { requests: proxy.roundTrips, connections: 0, packets: seen.packets, bytes: seen.bytes };
      },
      get firstMs() {
        return seen.firstMs;
      },
      forget() {
        proxy.forget();
        forgetSeen();
      },
      close: () => proxy.close(),
    };
  }
  const roll = dice(seed);
  const heldUpMs = () => (loss > 0 && roll() < loss ? SENT_AGAIN_MS + roundTripMs : 0);
  const proxy = await startTcpProxy({ port, latencyMs, onPassed, heldUpMs });
  return {
    port: proxy.port,
    get counts() {
      const { requests, connections } = proxy;
      return { requests: requests.length, connections, packets: seen.packets, bytes: seen.bytes };
    },
    get firstMs() {
      return seen.firstMs;
    },
    forget() {
      proxy.forget();
      forgetSeen();
    },
    close: () => proxy.close(),
  };
}
