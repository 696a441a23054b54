import { z } from "zod";
import { CHANGE_KINDS } from "../changelog.ts";

/**
 * The files of an Artifact Hub repository, as strict as its own parser (artifacthub/hub:
 * docs/metadata/artifacthub-pkg.yml and artifacthub-repo.yml, internal/pkg/metadata.go).
 */
const text = z.string().trim().min(1);
const Link = z.strictObject({ name: text, url: z.url({ protocol: /^https?$/ }) });
const Contact = z.strictObject({ name: text, email: z.email() });

/** SemVer 2.0.0, section 2 and 9 to 11. */
const NUMBER = "(?:0|[1-9]\\d*)";
const PRERELEASE_PART = `(?:${NUMBER}|\\d*[a-zA-Z-][0-9a-zA-Z-]*)`;
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRERELEASE_PART}(?:\\.${PRERELEASE_PART})*)?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`,
);

const ContainerImage = z.strictObject({
  name: text.optional(),
  /** `${REGISTRYHOST}/${USERNAME}/${NAME}:${TAG}` */
  image: z.string().regex(/^[\w.-]+(?::\d+)?(?:\/[a-z0-9._-]+)+:[\w][\w.-]*$/),
  whitelisted: z.boolean().optional(),
  platforms: z
    .array(z.string().regex(/^[a-z0-9]+\/[a-z0-9]+(?:\/[a-z0-9]+)?$/))
    .min(1)
    .optional(),
});

const Change = z.strictObject({
  kind: z.enum(CHANGE_KINDS),
  description: text,
  links: z.array(Link).min(1).optional(),
});

/** `artifacthub-pkg.yml`, with its keys in this order. */
export const PackageMetadata = z.strictObject({
  version: z.string().regex(SEMVER),
  name: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/i),
  alternativeName: text.optional(),
  category: z
    .enum([
      "ai-machine-learning",
      "database",
      "integration-delivery",
      "monitoring-logging",
      "networking",
      "security",
      "storage",
      "streaming-messaging",
      "skip-prediction",
    ])
    .optional(),
  displayName: text,
  createdAt: z.iso.datetime({ offset: true }),
  description: text,
  logoPath: text.optional(),
  logoURL: z.url().optional(),
  digest: text.optional(),
  license: text.optional(),
  homeURL: z.url({ protocol: /^https?$/ }).optional(),
  appVersion: text.optional(),
  containersImages: z.array(ContainerImage).min(1).optional(),
  containsSecurityUpdates: z.boolean().optional(),
  operator: z.boolean().optional(),
  deprecated: z.boolean().optional(),
  prerelease: z.boolean().optional(),
  keywords: z.array(text).min(1).optional(),
  links: z.array(Link).min(1).optional(),
  readme: text.optional(),
  install: text.optional(),
  changes: z.array(Change).min(1).optional(),
  maintainers: z.array(Contact).min(1).optional(),
  provider: z.strictObject({ name: text }).optional(),
  ignore: z.array(text).optional(),
  recommendations: z
    .array(z.strictObject({ url: z.url() }))
    .min(1)
    .optional(),
  screenshots: z
    .array(z.strictObject({ title: text, url: z.url() }))
    .min(1)
    .optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
export type PackageMetadata = z.infer<typeof PackageMetadata>;

/** `artifacthub-repo.yml` */
export const RepositoryMetadata = z.strictObject({
  repositoryID: z.uuid().optional(),
  owners: z.array(Contact).min(1).optional(),
  ignore: z.array(z.strictObject({ name: text, version: text.optional() })).optional(),
});
export type RepositoryMetadata = z.infer<typeof RepositoryMetadata>;
