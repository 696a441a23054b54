import { type Endpoint, serviceEndpoint } from "../../shared/bmc/http/endpoint.ts";
import { AMT_PORTS, providersOf } from "../../shared/contract/connection.ts";
import { defined } from "../../shared/defined.ts";
import type { MachineEntry } from "./inventory-schema.ts";

const REDFISH_PORT = 443;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * The endpoints of a machine's providers that use TLS; none for IPMI and plain HTTP. `ca` contains the certificates of
 * `caFile`.
 */
export function tlsEndpoints(entry: MachineEntry, ca: string | undefined): readonly Endpoint[] {
  const { host, redfish, amt, rpc, homeassistant, ironic } = entry;
  const { caFile: _, fingerprint, ...tls } = entry.tls;
  const limits = {
    tls: { ...tls, ...defined({ ca, fingerprint }) },
    connectTimeoutMs: entry.connectTimeout ?? CONNECT_TIMEOUT_MS,
  };
  const service = rpc ?? homeassistant ?? ironic;
  const endpoints = service
    ? [serviceEndpoint(new URL(service.url), limits)]
    : providersOf(entry).flatMap((provider): Endpoint[] => {
        if (provider === "redfish")
          return [{ ...redfish, port: redfish.port ?? REDFISH_PORT, host, ...limits }];
        return provider === "amt" ? [{ ...amt, port: amt.port ?? AMT_PORTS.https, host, ...limits }] : [];
      });
  return endpoints.filter(({ scheme }) => scheme === "https");
}
