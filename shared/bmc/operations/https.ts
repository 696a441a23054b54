import { BmcError } from "../../contract/bmc-error.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { type CertificateChain, type CertificateSummary, readChain } from "./certificate-chain.ts";
import { certificatePort, type HttpsDrivers } from "./certificate-port.ts";
import { describeOffer } from "./finding.ts";
import { type CertificateReport, type CertificateStage, installCertificate } from "./install-certificate.ts";
import { sendOnce } from "./read-back.ts";
import { checkSigningRequest, type SigningRequestNames } from "./signing-request.ts";

/** A certificate to install. */
export interface CertificateRequest {
  /** PEM: the BMC's own certificate, each followed by its issuer. */
  readonly pem: string;
  /** False allows a certificate for another name than the connection's host. */
  readonly checksName: boolean;
  /** Resets the BMC if it does not show the certificate at once. */
  readonly resets: boolean;
}

export const httpsOperations = defineOperations({
  title: "HTTPS certificate",
  methods: (run: Run<HttpsDrivers>) => ({
    /**
     * Lets the BMC make a new key and returns the certificate signing request for it, in PEM. The certificate in use stays; an
     * earlier request may become useless.
     */
    generateSigningRequest: (names: SigningRequestNames, signal: AbortSignal): Promise<string> =>
      run(signal, async ({ write }) => {
        let text = "";
        const send = () =>
          write(async ({ https }) => {
            text = await https.generate(names, signal);
          });
        await sendOnce(send, "the BMC may have made a key");
        return checkSigningRequest(text, names);
      }),

    /** What `generateSigningRequest` would send. */
    planSigningRequest: (names: SigningRequestNames, signal: AbortSignal): Promise<Plan<undefined>> =>
      run(signal, async ({ read }) => {
        const step = await read(({ https }) => https.planGenerate(names, signal));
        return { before: undefined, steps: [step] };
      }),

    /**
     * Installs a certificate for the BMC's web server and waits, for `timeoutMs` at most, until a new connection shows it and accepts
     * the login. From then on the client accepts only this certificate. Throws `usage` with all problems before anything is sent.
     * `onStage` is called before and after the certificate is sent.
     */
    setCertificate: (
      request: CertificateRequest,
      timeoutMs: number,
      signal: AbortSignal,
      onStage: (stage: CertificateStage, before: CertificateSummary) => void = () => undefined,
    ): Promise<CertificateReport> =>
      run(signal, async (access) => {
        const chain = checkedChain(access, request);
        const { resets } = request;
        return installCertificate(certificatePort(access, signal), { chain, resets, timeoutMs, onStage });
      }),

    /** What `setCertificate` would send. */
    planCertificate: (request: CertificateRequest, signal: AbortSignal): Promise<Plan<CertificateSummary>> =>
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
