import type { V1PodSpec } from "@kubernetes/client-node";

const VOLUME_KINDS = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

/** What a namespace that enforces the restricted Pod Security Standard has against a Pod, field by field. */
export function violationsOfRestricted(spec: V1PodSpec): readonly string[] {
  const violations: string[] = [];
  const check = (field: string, isAllowed: boolean) => {
    if (!isAllowed) violations.push(field);
  };
  const pod = spec.securityContext ?? {};
  check("hostNetwork", !spec.hostNetwork);
  check("hostPID", !spec.hostPID);
  check("hostIPC", !spec.hostIPC);
  for (const { name, ...source } of spec.volumes ?? [])
    check(
      `volumes.${name}`,
      Object.keys(source).every((kind) => VOLUME_KINDS.includes(kind)),
    );
  for (const { name, securityContext = {}, ports = [] } of [
    ...(spec.initContainers ?? []),
    ...spec.containers,
  ]) {
    const { capabilities = {}, seccompProfile = pod.seccompProfile } = securityContext;
    const { runAsNonRoot = pod.runAsNonRoot, runAsUser = pod.runAsUser } = securityContext;
    check(`${name}.ports`, !ports.some(({ hostPort }) => hostPort));
    check(`${name}.privileged`, !securityContext.privileged);
    check(`${name}.allowPrivilegeEscalation`, securityContext.allowPrivilegeEscalation === false);
    check(`${name}.capabilities.drop`, capabilities.drop?.includes("ALL") === true);
    check(`${name}.capabilities.add`, capabilities.add?.every((one) => one === "NET_BIND_SERVICE") ?? true);
    check(`${name}.runAsNonRoot`, runAsNonRoot === true);
    check(`${name}.runAsUser`, runAsUser !== 0);
    check(`${name}.seccompProfile`, ["RuntimeDefault", "Localhost"].includes(seccompProfile?.type ?? ""));
  }
  return violations;
}
