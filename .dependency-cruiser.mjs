/** What may import what (docs/architecture.md); `npm run lint` checks it. */
export default {
  forbidden: [
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true } },
    { name: "no-folder-cycle", severity: "error", scope: "folder", from: {}, to: { circular: true } },
    {
      name: "shared-is-the-bottom",
      severity: "error",
      from: { path: "^shared/" },
      to: { path: "^(worker|actions|cli)/" },
    },
    {
      name: "worker-and-actions-are-apart",
      comment: "They tell each other only what shared/contract/ describes.",
      severity: "error",
      from: { path: "^(worker|actions)/" },
      to: { path: "^(worker|actions|cli)/", pathNot: "^$1/" },
    },
    {
      name: "core-is-the-bottom",
      comment: "What it needs of others is an interface in core/ports/.",
      severity: "error",
      from: { path: "^worker/core/" },
      to: { path: "^worker/", pathNot: "^worker/core/" },
    },
    {
      name: "documents-and-settings",
      comment: "How files and settings are read. Knows none of those that have settings.",
      severity: "error",
      from: { path: "^worker/(document|config)/" },
      to: { path: "^worker/", pathNot: "^worker/(document|config)/" },
    },
    {
      name: "parts-are-apart",
      comment: "Each answers one question for the core, and could be replaced without the others.",
      severity: "error",
      from: { path: "^worker/(kubernetes|listener|machines|policy|sources)/" },
      to: { path: "^worker/", pathNot: "^worker/($1|core|config|document)/" },
    },
    {
      name: "runtimes-know-clusters-only",
      severity: "error",
      from: { path: "^worker/(runtimes|template|findings)/" },
      to: { path: "^worker/", pathNot: "^worker/($1|kubernetes|core|config|document)/" },
    },
    {
      name: "explanations-combine-parts",
      severity: "error",
      from: { path: "^worker/explain/" },
      to: { path: "^worker/", pathNot: "^worker/(explain|policy|machines|runtimes|core|config|document)/" },
    },
    {
      name: "features-are-apart",
      comment:
        "What two of them need is a service, or an offer (worker/features/feature.ts). Only main/ lists them.",
      severity: "error",
      from: { path: "^worker/features/([^/]+)/" },
      to: {
        path: "^worker/(features/[^/]+|main|doctor|commands)/",
        pathNot: "^worker/features/($1|shared)/",
      },
    },
    {
      name: "main-composes",
      comment: "Above it are only the commands and what they diagnose.",
      severity: "error",
      from: { path: "^worker/main/" },
      to: { path: "^worker/(doctor|commands)/" },
    },
    {
      name: "simulators-are-for-the-lab",
      severity: "error",
      from: { path: "^(worker|shared|actions|cli)/", pathNot: "^cli/lab/" },
      to: { path: "^simulators/" },
    },
  ],
  options: {
    parser: "swc",
    includeOnly: "^(worker|shared|actions|cli|simulators)/",
    exclude: "/gen/",
  },
};
