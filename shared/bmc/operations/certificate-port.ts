import { BmcError } from "../../contract/bmc-error.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";
import { withTimeout } from "../../timeout.ts";
import type { Access } from "./access.ts";
import type { CertificateChain, CertificateSummary } from "./certificate-chain.ts";
import type { OfferedDriver } from "./finding.ts";
import type { ManagerDriver } from "./manager.ts";
import type { PowerDriver } from "./power.ts";
import type { SigningRequestNames } from "./signing-request.ts";

export interface HttpsDriver extends OfferedDriver {
  /**
   * Reads the certificate that the BMC presents on a new connection, on which nothing is sent. Also works after the session
   * has ended.
   */
  shown(signal: AbortSignal): Promise<CertificateSummary>;
  /** Returns what `generate` would send, in one line for display. */
  planGenerate(names: SigningRequestNames, signal: AbortSignal): Promise<string>;
  /** Makes a key and returns the certificate signing request in the BMC's form. */
  generate(names: SigningRequestNames, signal: AbortSignal): Promise<string>;
  /** Returns what `install` would send, in one line for display. */
  plan(chain: CertificateChain, signal: AbortSignal): Promise<string>;
  /** Sends the chain once. The session may be lost afterwards. */
  install(chain: CertificateChain, signal: AbortSignal): Promise<void>;
}

export type HttpsDrivers = {
  readonly https: HttpsDriver;
  readonly manager: ManagerDriver;
  readonly power: PowerDriver;
};

/** The operations on the BMC's web server, with retries. */
export type CertificatePort = ReturnType<typeof certificatePort>;

export function certificatePort(access: Access<HttpsDrivers>, signal: AbortSignal) {
  const { connection, clock, read, write, afresh, trustOnly, sleep, progress } = access;
  let through: { readonly provider: SessionProvider; readonly https: HttpsDriver } | undefined;
  return {
    clock,
    host: connection.host,
    shown: () =>
      read((session) => {
        through = session;
        return session.https.shown(signal);
      }),
    install: (chain: CertificateChain) => write(({ https }) => https.install(chain, signal)),
    reset: () => write(({ manager }) => manager.reset("cold", signal)),
    /** Makes one attempt without a session, in which no answer counts as an answer. */
    look: (limitMs: number) =>
      withTimeout(limitMs, signal, async (limit) => {
        if (!through) throw new BmcError("internal", "looked before the first reading");
        return through.https.shown(limit);
      }),
    /** Logs in once on a new connection that must present this certificate. */
    logIn: async (fingerprint: string, limitMs: number): Promise<void> => {
      await trustOnly(fingerprint);
      await withTimeout(limitMs, signal, (limit) =>
        afresh(through?.provider, limit, ({ power }) => power.read(limit)),
      );
    },
    trustOnly,
    sleep,
    progress,
  };
}
