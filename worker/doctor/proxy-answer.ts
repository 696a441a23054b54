import { STATUS_CODES } from "node:http";
import { printableLine, shortened } from "../../shared/printable.ts";
import type { CauseName } from "../findings/causes.ts";

/** An HTTP answer without a gRPC status. Only something in front of a tink server gives one. */
export interface ProxyAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

const LONGEST_TEXT = 100;

/** Why a proxy or another web server gives this answer; undefined if its status does not say. */
export function causeOfAnswer({ status, headers }: ProxyAnswer): readonly [CauseName, string] | undefined {
  const { server, location } = headers;
  const name = server === undefined ? "" : ` (${brief(server)})`;
  const answer = `HTTP ${`${status} ${STATUS_CODES[status] ?? ""}`.trim()}`;
  const says = `a proxy${name} answers ${answer}`;
  switch (status) {
    case 502:
    case 503:
    case 504:
      return ["server-behind-proxy-down", `${says}: the tink server behind it does not answer`];
    case 301:
    case 302:
    case 303:
    case 307:
    case 308: {
      const to = location === undefined ? "" : ` to ${brief(location)}`;
      return ["proxy-redirects", `${says}: it redirects${to}, which gRPC does not follow`];
    }
    case 401:
    case 403:
    case 407:
      return ["proxy-denies", `${says}: it does not let the worker through to the tink server`];
    case 408:
    case 429:
    case 500:
      return ["server-error", says];
    default:
      // Statuses of content delivery networks: the origin is down, silent or unreachable.
      return status >= 520 && status <= 530
        ? ["server-behind-proxy-down", `${says}: the tink server behind it does not answer`]
        : undefined;
  }
}

/** The gRPC messages of Envoy, and of proxies built on it, when they cannot reach the server behind them. */
const NO_UPSTREAM = /^(?:upstream (?:connect error|request timeout)|no healthy upstream)/i;

export function saysNoUpstream(grpcMessage: string): boolean {
  return NO_UPSTREAM.test(grpcMessage);
}

function brief(field: string | string[]): string {
  return shortened(printableLine(String(field)), LONGEST_TEXT);
}
