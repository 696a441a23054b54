import type { Presence } from "../../shared/bmc/providers/ipmi/session/presence.ts";

/** A host to probe, with the port of Redfish if SSDP named one. */
export interface Target {
  readonly host: string;
  readonly redfishPort?: number;
}

export interface Ports {
  readonly redfish: number;
  readonly ipmi: number;
  readonly amt: number;
  readonly amtTls: number;
}

export interface FoundCertificate {
  /** The SHA-256 fingerprint in hex. */
  readonly fingerprint: string;
  readonly subject: string;
  /** Whether the system's authorities verify the certificate for the host. */
  readonly isTrusted: boolean;
}

/** What the Redfish service root says. The BMC chose all text in it; long text is shortened. */
export interface FoundRedfish {
  readonly port: number;
  readonly version?: string;
  readonly vendor?: string;
  readonly product?: string;
  readonly uuid?: string;
  readonly certificate: FoundCertificate;
}

export interface FoundAmt {
  readonly port: number;
  readonly scheme: "http" | "https";
  readonly version?: string;
  readonly certificate?: FoundCertificate;
}

/** What answered at a host: at least one of the three protocols. */
export interface FoundBmc {
  readonly host: string;
  readonly redfish?: FoundRedfish;
  readonly amt?: FoundAmt;
  readonly ipmi?: { readonly port: number; readonly version: Presence };
}
