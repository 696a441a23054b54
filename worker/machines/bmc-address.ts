import { isIPv6 } from "node:net";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import type { BmcAddress } from "../action/machine-facts.ts";

/** As much of an inventory entry or a connection as its address needs. */
interface Target {
  readonly host: string;
  readonly tls: {
    readonly verify: boolean;
    readonly fingerprint?: string | undefined;
    readonly ca?: string | undefined;
    readonly caFile?: string | undefined;
  };
  readonly redfish: { readonly scheme: string; readonly port?: number | undefined };
  readonly amt: { readonly scheme: string; readonly port?: number | undefined };
  readonly rpc?: { readonly url: string } | undefined;
  readonly homeassistant?: { readonly url: string } | undefined;
}

const AMT_PORTS: Readonly<Record<string, number>> = { http: 16_992, https: 16_993 };

export function bmcAddress(target: Target, providers: readonly ProviderName[]): BmcAddress {
  const url = URL.parse(webAddress(target, providers))?.origin;
  const usesTls = url?.startsWith("https:") && providers.some((name) => !name.startsWith("ipmi"));
  return {
    host: target.host,
    providers,
    ...defined({ url, certificate: usesTls ? accepted(target.tls) : undefined }),
  };
}

/** IPMI has no web interface of its own, but its BMC usually has one. */
function webAddress({ host, redfish, amt, rpc, homeassistant }: Target, providers: readonly ProviderName[]) {
  const service = rpc ?? homeassistant;
  if (service) return service.url;
  const authority = isIPv6(host) ? `[${host}]` : host;
  if (providers.includes("redfish")) return `${redfish.scheme}://${authority}${portOf(redfish.port)}`;
  if (providers.includes("amt"))
    return `${amt.scheme}://${authority}${portOf(amt.port ?? AMT_PORTS[amt.scheme])}`;
  return `https://${authority}`;
}

function portOf(port: number | undefined): string {
  return port === undefined ? "" : `:${port}`;
}

function accepted({ verify, fingerprint, ca, caFile }: Target["tls"]): string {
  if (fingerprint !== undefined) return `only the pinned one, SHA-256 ${fingerprint}`;
  if (!verify) return "any: it is not verified";
  return (ca ?? caFile) === undefined ? "of the system's authorities" : "of the configured authority";
}
