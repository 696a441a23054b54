import { IMAGE_REGISTRY } from "../../shared/image-registry.ts";
import { version } from "../../shared/version.ts";

/** The lab's policy, which lets this project's images receive the BMCs' passwords. */
export const labPolicy = `trustedImages:
  - ${IMAGE_REGISTRY}/*
`;

/** A template that every machine of the lab can run. */
export const labTemplate = `version: "0.1"
name: network-boot
global_timeout: 600
tasks:
  - name: bmc
    worker: "pbnj-{{ .machine }}"
    environment:
      MACHINE: "{{ .machine }}"
    actions:
${["power-off", "set-pxe-once", "power-on"].map(actionText).join("")}`;

function actionText(name: string): string {
  return `      - name: ${name}
        image: ${IMAGE_REGISTRY}/${name}:v${version}
        timeout: 120
`;
}
