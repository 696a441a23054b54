import type { CertificateSummary } from "../../shared/bmc/operations/certificate-chain.ts";
import { describeCertificate } from "../../shared/bmc/operations/certificate-chain.ts";
import type { CertificateRequest } from "../../shared/bmc/operations/https.ts";
import type { CertificateStage } from "../../shared/bmc/operations/install-certificate.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { ActionFailure, defineAction } from "../harness/action.ts";
import { boolean, duration, type InputOf, text, textFile } from "../harness/input/input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";

interface CertificateData {
  readonly fingerprint: string;
  readonly inventory: string;
}

const TEXT = "CERTIFICATE";
const FILE = "CERTIFICATE_FILE";

const input = {
  certificate: text({
    env: TEXT,
    description: "The certificate in PEM; its issuers may follow, each after what it issued",
    pattern: /^-----BEGIN CERTIFICATE-----\s[\s\S]{1,65536}$/,
    expected: "is not a certificate in PEM",
  }),
  file: textFile({ env: FILE, description: "File with the same, or - for stdin" }),
  verifyName: boolean({
    env: "VERIFY_NAME",
    description: "Whether the certificate must be for BMC_HOST",
    default: "true",
  }),
  resetBmc: boolean({
    env: "RESET_BMC",
    description: "Reset the BMC if it does not show the certificate at once; some need it",
    default: "false",
  }),
  verifyTimeout: duration({
    env: "VERIFY_TIMEOUT",
    description: "Time limit for the BMC to show the certificate",
    default: "4m",
    minMs: 1_000,
  }),
} as const;

export default defineAction<typeof input, DryRunData | CertificateData>({
  name: "set-bmc-certificate",
  summary: "Install a certificate for a BMC's web server, and verify it on a new connection",
  idempotent: true,
  input,
  check: ({ certificate, file }, nameInput) =>
    (certificate === undefined) === (file === undefined)
      ? [`set either ${nameInput(TEXT)} or ${nameInput(FILE)}`]
      : [],
  run: async ({ bmc, input: given, dryRun, signal, progress }) => {
    const request = requestOf(given);
    if (dryRun) {
      const plan = await bmc.planCertificate(request, signal);
      return reportPlan(plan, describeCertificate(plan.before));
    }
    let sent: CertificateSummary | undefined;
    const onStage = (stage: CertificateStage, before: CertificateSummary) => {
      progress({ summary: `${stage} the certificate`, before, changed: stage === "sent" });
      if (stage === "sent") sent = before;
    };
    try {
      const report = await bmc.setCertificate(request, given.verifyTimeout, signal, onStage);
      const { fingerprint } = report.after;
      const inventory = `tls: {fingerprint: "${fingerprint}"}`;
      const pin = report.changed ? `; if the inventory pins the old one, replace it: ${inventory}` : "";
      return { ...report, summary: `${report.summary}${pin}`, data: { fingerprint, inventory } };
    } catch (thrown) {
      if (!sent) throw thrown;
      throw new ActionFailure(BmcError.from(thrown), { before: sent, changed: true });
    }
  },
});

function requestOf({ certificate, file, verifyName, resetBmc }: InputOf<typeof input>): CertificateRequest {
  return { pem: certificate ?? file ?? "", checksName: verifyName, resets: resetBmc };
}
