import type { PeerCertificate } from "node:tls";

const DAY_MS = 86_400_000;
/** A warning this early leaves time to get and install a new certificate. */
const WARNING_DAYS = 30;

/** A certificate in short texts. */
export interface CertificateFacts {
  /** Such as `tink.example.org`. */
  readonly subject: string;
  /** Such as `Example CA`. */
  readonly issuer: string;
  /** Host names and addresses; the subject if there are none. */
  readonly names: readonly string[];
  /** A date such as `2027-06-20`. */
  readonly from: string;
  readonly until: string;
  readonly term: "valid" | "ends-soon" | "expired";
}

export function certificateFacts(certificate: PeerCertificate, nowMs: number): CertificateFacts {
  const subject = nameIn(certificate.subject);
  const names = (certificate.subjectaltname ?? "")
    .split(", ")
    .flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
  return {
    subject,
    issuer: nameIn(certificate.issuer),
    names: names.length > 0 ? names : [subject],
    from: dateIn(certificate.valid_from),
    until: dateIn(certificate.valid_to),
    term: termOf(Date.parse(certificate.valid_to), nowMs),
  };
}

/** Whether something that ends at `endMs` is valid now, and for how much longer. */
export function termOf(endMs: number, nowMs: number): CertificateFacts["term"] {
  if (endMs <= nowMs) return "expired";
  return endMs - nowMs < WARNING_DAYS * DAY_MS ? "ends-soon" : "valid";
}

function dateIn(text: string): string {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : new Date(ms).toISOString().slice(0, 10);
}

/** A name may have several values for one attribute, which the types do not show. */
function nameIn(name: PeerCertificate["subject"] | undefined): string {
  const { CN, O } = { CN: undefined, O: undefined, ...name };
  const found: unknown = CN ?? O;
  return found === undefined ? "without a name" : [found].flat().map(String).join(", ");
}
