import type {
  V1Container,
  V1EnvVar,
  V1KeyToPath,
  V1PodSpec,
  V1SecurityContext,
  V1Toleration,
  V1Volume,
  V1VolumeProjection,
} from "@kubernetes/client-node";
import type { FieldErrors } from "./field-errors.ts";
import { checkLabelName, checkLabels, checkQualifiedName, checkSubdomainName } from "./names.ts";
import { parseQuantity } from "./quantity.ts";

const LARGEST_ID = 2_147_483_647;
const STANDARD_RESOURCES = ["cpu", "memory", "ephemeral-storage"];
const VOLUME_KINDS = [
  "awsElasticBlockStore",
  "azureDisk",
  "azureFile",
  "cephfs",
  "cinder",
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "gitRepo",
  "glusterfs",
  "hostPath",
  "image",
  "iscsi",
  "nfs",
  "persistentVolumeClaim",
  "photonPersistentDisk",
  "portworxVolume",
  "projected",
  "quobyte",
  "rbd",
  "scaleIO",
  "secret",
  "storageos",
  "vsphereVolume",
] as const satisfies readonly (keyof V1Volume)[];
const PROJECTIONS = [
  "secret",
  "configMap",
  "downwardAPI",
  "serviceAccountToken",
  "clusterTrustBundle",
  "podCertificate",
] as const satisfies readonly (keyof V1VolumeProjection)[];

/** What the API has against the specification, after its defaults are filled in. `path` is where it stands. */
export function checkPodSpec(errors: FieldErrors, path: string, spec: V1PodSpec): void {
  const volumes = checkVolumes(errors, `${path}.volumes`, spec.volumes ?? []);
  if ((spec.containers ?? []).length === 0) errors.required(`${path}.containers`);
  const names = new Set<string>();
  for (const [list, containers] of [
    ["initContainers", spec.initContainers ?? []],
    ["containers", spec.containers ?? []],
  ] as const)
    for (const [index, container] of containers.entries())
      checkContainer(errors, `${path}.${list}[${index}]`, container, volumes, names);
  errors.oneOf(`${path}.restartPolicy`, spec.restartPolicy, ["Always", "OnFailure", "Never"]);
  errors.oneOf(`${path}.dnsPolicy`, spec.dnsPolicy, [
    "ClusterFirstWithHostNet",
    "ClusterFirst",
    "Default",
    "None",
  ]);
  errors.within(`${path}.activeDeadlineSeconds`, spec.activeDeadlineSeconds, 1, LARGEST_ID);
  errors.notNegative(`${path}.terminationGracePeriodSeconds`, spec.terminationGracePeriodSeconds);
  if (spec.serviceAccountName)
    checkSubdomainName(errors, `${path}.serviceAccountName`, spec.serviceAccountName);
  if (spec.nodeName) checkSubdomainName(errors, `${path}.nodeName`, spec.nodeName);
  checkLabels(errors, `${path}.nodeSelector`, spec.nodeSelector);
  checkIds(errors, `${path}.securityContext`, spec.securityContext ?? {});
  errors.within(`${path}.securityContext.fsGroup`, spec.securityContext?.fsGroup, 0, LARGEST_ID);
  for (const [index, { name }] of (spec.imagePullSecrets ?? []).entries())
    if (!name) errors.required(`${path}.imagePullSecrets[${index}].name`);
  for (const [index, toleration] of (spec.tolerations ?? []).entries())
    checkToleration(errors, `${path}.tolerations[${index}]`, toleration);
}

function checkContainer(
  errors: FieldErrors,
  path: string,
  container: V1Container,
  volumes: ReadonlySet<string>,
  names: Set<string>,
): void {
  if (!container.name) errors.required(`${path}.name`);
  else {
    checkLabelName(errors, `${path}.name`, container.name);
    if (names.has(container.name)) errors.duplicate(`${path}.name`, container.name);
    names.add(container.name);
  }
  if (!container.image) errors.required(`${path}.image`);
  else if (container.image !== container.image.trim())
    errors.invalid(`${path}.image`, container.image, "must not have leading or trailing whitespace");
  errors.oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    "File",
    "FallbackToLogsOnError",
  ]);
  errors.oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ["Always", "IfNotPresent", "Never"]);
  for (const [index, variable] of (container.env ?? []).entries())
    checkVariable(errors, `${path}.env[${index}]`, variable);
  const mountPaths = new Set<string>();
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}.volumeMounts[${index}]`;
    if (!mount.name) errors.required(`${at}.name`);
    else if (!volumes.has(mount.name)) errors.notFound(`${at}.name`, mount.name);
    if (!mount.mountPath) errors.required(`${at}.mountPath`);
    else if (mountPaths.has(mount.mountPath))
      errors.invalid(`${at}.mountPath`, mount.mountPath, "must be unique");
    mountPaths.add(mount.mountPath);
    if (mount.subPath?.startsWith("/"))
      errors.invalid(`${at}.subPath`, mount.subPath, "must be a relative path");
    if (mount.subPath?.split("/").includes(".."))
      errors.invalid(`${at}.subPath`, mount.subPath, "must not contain '..'");
  }
  checkResources(errors, `${path}.resources`, container);
  checkSecurityContext(errors, `${path}.securityContext`, container.securityContext);
}

function checkVariable(errors: FieldErrors, path: string, { name, value, valueFrom }: V1EnvVar): void {
  if (!name) errors.required(`${path}.name`);
  else if (!/^[ -<>-~]+$/.test(name))
    errors.invalid(
      `${path}.name`,
      name,
      "a valid environment variable name must consist only of printable ASCII characters other than '='",
    );
  if (!valueFrom) return;
  if (value) errors.invalid(`${path}.valueFrom`, "", "may not be specified when `value` is not empty");
  const sources = Object.entries(valueFrom).filter(([, source]) => source !== undefined);
  if (sources.length !== 1)
    errors.invalid(
      `${path}.valueFrom`,
      "",
      sources.length === 0
        ? "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        : "may not have more than one field specified at a time",
    );
  for (const kind of ["secretKeyRef", "configMapKeyRef"] as const) {
    const reference = valueFrom[kind];
    if (reference && !reference.key) errors.required(`${path}.valueFrom.${kind}.key`);
    if (reference && !reference.name) errors.required(`${path}.valueFrom.${kind}.name`);
  }
}

function checkResources(errors: FieldErrors, path: string, { resources = {} }: V1Container): void {
  const { limits = {}, requests = {} } = resources;
  for (const [list, quantities] of Object.entries({ limits, requests }))
    for (const [name, text] of Object.entries(quantities)) {
      const at = `${path}.${list}[${name}]`;
      if (!name.includes("/") && !name.startsWith("hugepages-") && !STANDARD_RESOURCES.includes(name)) {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
        errors.invalid(at, name, "must be a standard resource for containers");
      } else if (name.includes("/")) checkQualifiedName(errors, at, name);
      if ((parseQuantity(text) ?? 0) < 0) errors.invalid(at, text, "must be greater than or equal to 0");
    }
  for (const [name, text] of Object.entries(requests)) {
    const limit = limits[name];
    if (limit !== undefined && (parseQuantity(text) ?? 0) > (parseQuantity(limit) ?? 0))
      errors.invalid(`${path}.requests`, text, `must be less than or equal to ${name} limit of ${limit}`);
  }
}

function checkSecurityContext(
  errors: FieldErrors,
  path: string,
  context: V1SecurityContext | undefined,
): void {
  if (!context) return;
  checkIds(errors, path, context);
  if (context.allowPrivilegeEscalation !== false) return;
  if (context.privileged)
    errors.invalid(path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  if (context.capabilities?.add?.includes("SYS_ADMIN"))
    errors.invalid(
      path,
      context,
      "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
    );
}

function checkIds(
  errors: FieldErrors,
  path: string,
  context: Pick<V1SecurityContext, "runAsUser" | "runAsGroup" | "seccompProfile">,
): void {
  errors.within(`${path}.runAsUser`, context.runAsUser, 0, LARGEST_ID);
  errors.within(`${path}.runAsGroup`, context.runAsGroup, 0, LARGEST_ID);
  const profile = context.seccompProfile;
  if (!profile) return;
  if (!profile.type)
    errors.required(`${path}.seccompProfile.type`, "type is required when seccompProfile is set");
  else
    errors.oneOf(`${path}.seccompProfile.type`, profile.type, ["Localhost", "RuntimeDefault", "Unconfined"]);
  if (profile.type === "Localhost" && !profile.localhostProfile)
    errors.required(`${path}.seccompProfile.localhostProfile`, "must be set when seccomp type is Localhost");
}

function checkToleration(errors: FieldErrors, path: string, toleration: V1Toleration): void {
  const { key = "", operator = "", value = "", effect, tolerationSeconds } = toleration;
  if (key !== "") checkQualifiedName(errors, `${path}.key`, key);
  if (key === "" && operator !== "Exists")
    errors.invalid(
      `${path}.operator`,
      operator,
      'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    );
  if (operator === "Exists" && value !== "")
    errors.invalid(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'");
  if (operator !== "") errors.oneOf(`${path}.operator`, operator, ["Equal", "Exists"]);
  if (effect) errors.oneOf(`${path}.effect`, effect, ["NoSchedule", "PreferNoSchedule", "NoExecute"]);
  if (tolerationSeconds !== undefined && effect !== "NoExecute")
    errors.invalid(
      `${path}.effect`,
      effect ?? "",
      "effect must be 'NoExecute' when `tolerationSeconds` is set",
    );
}

function checkVolumes(errors: FieldErrors, path: string, volumes: readonly V1Volume[]): Set<string> {
  const names = new Set<string>();
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    const kinds = VOLUME_KINDS.filter((kind) => volume[kind] !== undefined);
    const [, second] = kinds;
    if (second !== undefined) errors.forbidden(`${at}.${second}`, "may not specify more than 1 volume type");
    if (kinds.length === 0) errors.required(at, "must specify a volume type");
    if (volume.secret) {
      if (!volume.secret.secretName) errors.required(`${at}.secret.secretName`);
      checkMode(errors, `${at}.secret.defaultMode`, volume.secret.defaultMode);
      checkItems(errors, `${at}.secret.items`, volume.secret.items);
    }
    if (volume.configMap) {
      if (!volume.configMap.name) errors.required(`${at}.configMap.name`);
      checkMode(errors, `${at}.configMap.defaultMode`, volume.configMap.defaultMode);
      checkItems(errors, `${at}.configMap.items`, volume.configMap.items);
    }
    if (volume.hostPath && !volume.hostPath.path) errors.required(`${at}.hostPath.path`);
    if (volume.emptyDir?.sizeLimit !== undefined && (parseQuantity(volume.emptyDir.sizeLimit) ?? 0) < 0)
      errors.forbidden(`${at}.emptyDir.sizeLimit`, "SizeLimit field must be a valid resource quantity");
    if (volume.emptyDir?.medium)
      errors.oneOf(`${at}.emptyDir.medium`, volume.emptyDir.medium, ["", "Memory"]);
    if (volume.projected) {
      checkMode(errors, `${at}.projected.defaultMode`, volume.projected.defaultMode);
      checkProjections(errors, `${at}.projected.sources`, volume.projected.sources ?? []);
    }
    if (!volume.name) errors.required(`${at}.name`);
    else {
      checkLabelName(errors, `${at}.name`, volume.name);
      if (names.has(volume.name)) errors.duplicate(`${at}.name`, volume.name);
      names.add(volume.name);
    }
  }
  return names;
}

function checkProjections(errors: FieldErrors, path: string, sources: readonly V1VolumeProjection[]): void {
  const paths = new Set<string>();
  for (const [index, source] of sources.entries()) {
    const at = `${path}[${index}]`;
    const kinds = PROJECTIONS.filter((kind) => source[kind] !== undefined);
    if (kinds.length > 1) errors.forbidden(at, "may not specify more than 1 volume type per source");
    for (const kind of ["secret", "configMap"] as const) {
      const named = source[kind];
      if (!named) continue;
      if (!named.name) errors.required(`${at}.${kind}.name`);
      checkItems(errors, `${at}.${kind}.items`, named.items);
      for (const item of named.items ?? []) {
        if (paths.has(item.path)) errors.invalid(path, item.path, "conflicting duplicate paths");
        paths.add(item.path);
      }
    }
    const token = source.serviceAccountToken;
    if (token && !token.path) errors.required(`${at}.serviceAccountToken.path`);
    if (token?.expirationSeconds !== undefined && token.expirationSeconds < 600)
      errors.invalid(
        `${at}.serviceAccountToken.expirationSeconds`,
        token.expirationSeconds,
        "may not specify a duration less than 10 minutes",
      );
  }
}

function checkItems(errors: FieldErrors, path: string, items: readonly V1KeyToPath[] = []): void {
  for (const [index, item] of items.entries()) {
    const at = `${path}[${index}]`;
    if (!item.key) errors.required(`${at}.key`);
    if (!item.path) errors.required(`${at}.path`);
    else if (item.path.startsWith("/")) errors.invalid(`${at}.path`, item.path, "must be a relative path");
    else if (item.path.split("/").includes(".."))
      errors.invalid(`${at}.path`, item.path, "must not contain '..'");
    checkMode(errors, `${at}.mode`, item.mode);
  }
}

function checkMode(errors: FieldErrors, field: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777))
    errors.invalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}
