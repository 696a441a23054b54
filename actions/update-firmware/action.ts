import { describeFirmware, type UpdateStage } from "../../shared/bmc/operations/update-firmware.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { FIRMWARE_URI, FIRMWARE_VERSION } from "../../shared/contract/desired-state.ts";
import { defined } from "../../shared/defined.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { boolean, choice, duration, inputFile, list, text } from "../harness/input/input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";
import { openImage } from "./open-image.ts";

const URI = "FIRMWARE_URI";
const FILE = "FIRMWARE_FILE";

export default defineAction({
  name: "update-firmware",
  summary: "Update a machine's firmware, follow the update and verify the version",
  // Without a version, every run installs the image again.
  idempotent: false,
  input: {
    uri: text({
      env: URI,
      description: "URI of the image, which the BMC fetches",
      pattern: FIRMWARE_URI,
      expected: "is not the URL of an image, without credentials",
    }),
    file: inputFile({ env: FILE, description: "File of the image, which is uploaded; at most 4 GiB" }),
    targets: list({
      env: "TARGETS",
      description: "IDs of list-firmware, separated by commas; without it, the BMC decides",
      pattern: /^[^\p{Cc}\p{Cf}]{1,200}$/u,
      expected: "must hold only IDs of firmware",
    }),
    sha256: text({
      env: "SHA256",
      description: "SHA-256 of the file, in hex; checked before anything is sent",
      pattern: /^[0-9a-f]{64}$/i,
      expected: "is not a SHA-256 in hex",
    }),
    version: text({
      env: "FIRMWARE_VERSION",
      description: "Version that all targets have afterwards; with this version already, nothing is sent",
      pattern: FIRMWARE_VERSION,
      expected: "is not a version",
    }),
    allowDowngrade: boolean({
      env: "ALLOW_DOWNGRADE",
      description: "Whether FIRMWARE_VERSION may be older than the present one",
      default: "false",
    }),
    applyTime: choice(["immediate", "on-reset"], {
      env: "APPLY_TIME",
      description: "When the update takes effect; without it, the BMC decides",
    }),
    updateTimeout: duration({
      env: "UPDATE_TIMEOUT",
      description: "Time limit for upload and update",
      default: "1h",
      minMs: 1_000,
    }),
    verifyTimeout: duration({
      env: "VERIFY_TIMEOUT",
      description: "Time limit for the new version to appear after that, a restart of the BMC included",
      default: "10m",
      minMs: 1_000,
    }),
  },
  check: ({ uri, file, sha256, version, targets }, nameInput) => [
    ...((uri === undefined) === (file === undefined)
      ? [`set either ${nameInput(URI)} or ${nameInput(FILE)}`]
      : []),
    ...(uri !== undefined && sha256 !== undefined
      ? [`${nameInput("SHA256")} needs ${nameInput(FILE)}: what a BMC fetches cannot be checked`]
      : []),
    ...(version !== undefined && !targets?.length
      ? [`${nameInput("FIRMWARE_VERSION")} needs ${nameInput("TARGETS")}: several programs have versions`]
      : []),
  ],
  run: async ({
    bmc,
    input,
    dryRun,
    signal,
    progress,
  }): Promise<ActionReport<DryRunData | { readonly pending: boolean }>> => {
    const { uri, file, sha256, targets = [], version, allowDowngrade, applyTime } = input;
    const image = uri !== undefined ? { uri } : file && (await openImage(file, sha256, signal));
    if (!image) throw new BmcError("internal", "the input was not checked");
    const request = { image, targets, allowDowngrade, ...defined({ version, applyTime }) };
    if (dryRun) {
      const { before, steps } = await bmc.planFirmwareUpdate(request, signal);
      return reportPlan({ before, steps }, describeFirmware(before));
    }
    const limits = { updateMs: input.updateTimeout, verifyMs: input.verifyTimeout };
    const onStage = (stage: UpdateStage) => {
      const summary = stage === "sent" ? "update sent; the BMC continues it" : "update sent";
      progress({ summary, changed: true });
    };
    const { pending, ...report } = await bmc.updateFirmware(request, limits, signal, onStage);
    return { ...report, data: { pending } };
  },
});
