import { describe, inject } from "vitest";
import { provenWith } from "../compatibility/peer.ts";
import { findProgram } from "../programs.ts";

/** Tests that need the control plane: skipped where its programs are not installed, which global-setup.ts reports. */
export function describeWithKubernetes(title: string, tests: (kubeconfig: string) => void): void {
  const kubeconfig = inject("kubeconfig");
  if (kubeconfig === undefined) {
    describe.skip(title, () => tests(""));
    return;
  }
  const version = [findProgram("kube-apiserver") ?? "kube-apiserver", "--version"];
  describe(title, provenWith({ name: "Kubernetes", version }), () => tests(kubeconfig));
}
