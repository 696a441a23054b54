import { BmcError } from "../../contract/bmc-error.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { type CertificateChain, type CertificateSummary, readChain } from "./certificate-chain.ts";
import { certificatePort, type HttpsDrivers } from "./certificate-port.ts";
import { describeOffer } from "./finding.ts";
import { type CertificateReport, type CertificateStage, installCertificate } from "./install-certificate.ts";
import { sendOnce } from "./read-back.ts";
import { checkSigningRequest, type SigningRequestNames } from "./signing-request.ts";

/** A request to install a certificate. */
export interface CertificateRequest {
  /** The chain in PEM: the BMC's own certificate first, and each followed by its issuer. */
  readonly pem: string;
  /** Whether the certificate must be for the connection's host. */
  readonly checksName: boolean;
  /** Whether to reset the BMC if it does not present the certificate at once. */
  readonly resets: boolean;
}

export const httpsOperations = defineOperations({
  title: "HTTPS certificate",
  methods: (run: Run<HttpsDrivers>) => ({
    /**
     * Makes the BMC generate a new key and returns the certificate signing request for it in PEM. The certificate in use
     * does not change. An earlier request may become useless.
     */
    generateSigningRequest: (
      names: SigningRequestNames,
      signal: AbortSignal = neverAborted(),
    ): Promise<string> =>
      run(signal, async ({ write }) => {
        let text = "";
        const send = () =>
          write(async ({ https }) => {
            text = await https.generate(names, signal);
          });
        await sendOnce(send, "the BMC may have made a key");
        return checkSigningRequest(text, names);
      }),

    /** Returns what `generateSigningRequest` would send. */
    planSigningRequest: (
      names: SigningRequestNames,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<undefined>> =>
      run(signal, async ({ read }) => {
        const step = await read(({ https }) => https.planGenerate(names, signal));
        return { before: undefined, steps: [step] };
      }),

    /**
     * Installs a certificate for the BMC's web server and waits, at most for `timeoutMs`, until a new connection presents it
     * and accepts the login. From then on the client accepts only this certificate. Throws `usage` with all problems before
     * anything is sent. `onStage` is called before and after the certificate is sent.
     */
    setCertificate: (
      request: CertificateRequest,
      timeoutMs: number,
      signal: AbortSignal = neverAborted(),
      onStage: (stage: CertificateStage, before: CertificateSummary) => void = () => undefined,
    ): Promise<CertificateReport> =>
      run(signal, async (access) => {
        const chain = checkedChain(access, request);
        const { resets } = request;
        return installCertificate(certificatePort(access, signal), { chain, resets, timeoutMs, onStage });
      }),

    /** Returns what `setCertificate` would send. */
    planCertificate: (
      request: CertificateRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<CertificateSummary>> =>
      run(signal, async (access) => {
        const chain = checkedChain(access, request);
        const before = await access.read(({ https }) => https.shown(signal));
        if (before.fingerprint === chain.leaf.fingerprint) return { before, steps: [] };
        return { before, steps: [await access.read(({ https }) => https.plan(chain, signal))] };
      }),
  }),
  check: async ({ read }, signal) => describeOffer(await read(({ https }) => https.offered(signal))),
});

function checkedChain(
  { connection, clock }: Pick<Access<HttpsDrivers>, "connection" | "clock">,
  { pem, checksName }: CertificateRequest,
): CertificateChain {
  const host = checksName ? connection.host : undefined;
  const chain = readChain(pem, { host, nowMs: clock.now() });
  if ("leaf" in chain) return chain;
  throw new BmcError("usage", chain.join("; "));
}
