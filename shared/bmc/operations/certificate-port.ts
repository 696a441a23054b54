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
  /** What the BMC shows on a new connection, on which nothing is sent. Also works after the session has ended. */
  shown(signal: AbortSignal): Promise<CertificateSummary>;
  /** What `generate` would send, in one line for people. */
  planGenerate(names: SigningRequestNames, signal: AbortSignal): Promise<string>;
  /** Makes a key and returns the request for its certificate, as the BMC sends it. */
  generate(names: SigningRequestNames, signal: AbortSignal): Promise<string>;
  /** What `install` would send, in one line for people. */
  plan(chain: CertificateChain, signal: AbortSignal): Promise<string>;
  /** Sends it once. Afterwards the session may be lost. */
  install(chain: CertificateChain, signal: AbortSignal): Promise<void>;
}

export type HttpsDrivers = {
  readonly https: HttpsDriver;
  readonly manager: ManagerDriver;
  readonly power: PowerDriver;
};

/** The BMC's web server with retries in place; what `installCertificate` needs and no more. */
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
    /** One attempt without a session, in which silence is an answer. */
    look: (limitMs: number) =>
      withTimeout(limitMs, signal, async (limit) => {
        if (!through) throw new BmcError("internal", "looked before the first reading");
        return through.https.shown(limit);
      }),
    /** One login on a new connection that must show this certificate. */
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
