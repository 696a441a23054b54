import type { Presence } from "../../shared/bmc/providers/ipmi/session/presence.ts";

/** Where to look: a host, and the port of Redfish if SSDP named one. */
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
  /** SHA-256 in hex. */
  readonly fingerprint: string;
  readonly subject: string;
  /** Whether the system's authorities verify it for the host. */
  readonly isTrusted: boolean;
}

/** All text is the BMC's own, shortened. */
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

/** What answered at a host, at least one of the three. */
export interface FoundBmc {
  readonly host: string;
  readonly redfish?: FoundRedfish;
  readonly amt?: FoundAmt;
  readonly ipmi?: { readonly port: number; readonly version: Presence };
}
