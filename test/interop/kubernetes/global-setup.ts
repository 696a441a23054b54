import type { TestProject } from "vitest/node";
import { kubeconfigOf } from "../../support/kubeconfig.ts";
import { findProgram } from "../programs.ts";
import { startControlPlane } from "./control-plane.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The text of a kubeconfig for the control plane, where its programs are installed. */
    readonly kubeconfig?: string;
  }
}

/** Starts one control plane for all test files of the project. */
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const etcd = findProgram("etcd");
  const apiServer = findProgram("kube-apiserver");
  const controllerManager = findProgram("kube-controller-manager");
  if (!etcd || !apiServer || !controllerManager) {
    const message = "etcd, kube-apiserver or kube-controller-manager is not installed";
    if (process.env["REQUIRE_INTEROP"] === "1") throw new Error(`REQUIRE_INTEROP=1, but ${message}`);
    process.stderr.write(`skipped, ${message}: the tests with Kubernetes\n`);
    return undefined;
  }
  const controlPlane = await startControlPlane({ etcd, apiServer, controllerManager });
  project.provide("kubeconfig", kubeconfigOf(controlPlane.access));
  return async () => controlPlane[Symbol.asyncDispose]();
}
