import { authority } from "../../shared/bmc/http/endpoint.ts";
import { AMT_PORTS } from "../../shared/contract/connection.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import type { BmcAddress } from "../core/action/machine-facts.ts";

interface WebService {
  readonly scheme: "http" | "https";
  readonly port?: number | undefined;
}

/** The fields of an inventory entry or a connection that determine its address. */
interface Target {
  readonly host: string;
  readonly tls: {
    readonly verify: boolean;
    readonly fingerprint?: string | undefined;
    readonly ca?: string | undefined;
    readonly caFile?: string | undefined;
  };
  readonly redfish: WebService;
  readonly amt: WebService;
  readonly rpc?: { readonly url: string } | undefined;
  readonly homeassistant?: { readonly url: string } | undefined;
  readonly ironic?: { readonly url: string } | undefined;
}

const WEB_PORTS: Readonly<Record<WebService["scheme"], number>> = { http: 80, https: 443 };

export function bmcAddress(target: Target, providers: readonly ProviderName[]): BmcAddress {
  const url = URL.parse(webAddress(target, providers))?.origin;
  const usesTls = url?.startsWith("https:") && providers.some((name) => !name.startsWith("ipmi"));
  return {
    host: target.host,
    providers,
    ...defined({ url, certificate: usesTls ? accepted(target.tls) : undefined }),
  };
}

/** The address of the web interface. IPMI itself has none, but its BMC usually does. */
function webAddress(
  { host, redfish, amt, rpc, homeassistant, ironic }: Target,
  providers: readonly ProviderName[],
) {
  const service = rpc ?? homeassistant ?? ironic;
  if (service) return service.url;
  if (providers.includes("redfish")) return webUrl(host, redfish, WEB_PORTS);
  if (providers.includes("amt")) return webUrl(host, amt, AMT_PORTS);
  return webUrl(host, { scheme: "https" }, WEB_PORTS);
}

function webUrl(host: string, { scheme, port }: WebService, defaults: typeof WEB_PORTS): string {
  return `${scheme}://${authority({ host, port: port ?? defaults[scheme] })}`;
}

function accepted({ verify, fingerprint, ca, caFile }: Target["tls"]): string {
  if (fingerprint !== undefined) return `only the pinned one, SHA-256 ${fingerprint}`;
  if (!verify) return "any: it is not verified";
  return (ca ?? caFile) === undefined ? "of the system's authorities" : "of the configured authority";
}
