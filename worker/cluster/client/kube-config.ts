// A module of its own, so that a bundle that imports it late takes this much of the package and no more.
export { KubeConfig } from "@kubernetes/client-node";
