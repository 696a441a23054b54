// A separate module, so that a bundle that imports it dynamically includes only this part of the package.
export { KubeConfig } from "@kubernetes/client-node";
