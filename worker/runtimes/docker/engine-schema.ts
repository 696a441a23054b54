import { z } from "zod";

export const ImageDetails = z.object({
  Id: z.string(),
  Config: z
    .object({
      User: z.string().nullish(),
      Labels: z.record(z.string(), z.string()).nullish(),
      Entrypoint: z.array(z.string()).nullish(),
      Cmd: z.array(z.string()).nullish(),
      WorkingDir: z.string().nullish(),
      Env: z.array(z.string()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
});
export type ImageDetails = z.infer<typeof ImageDetails>;
export type ImageConfig = NonNullable<ImageDetails["Config"]>;

export const CreatedContainer = z.object({ Id: z.string().min(1) });

/** A time. Go's zero time means "never". */
const Moment = z.string().transform((text) => {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) || at.getUTCFullYear() <= 1 ? undefined : at;
});

export const ContainerDetails = z.object({
  Id: z.string(),
  State: z.object({
    Status: z.string(),
    OOMKilled: z.boolean().default(false),
    ExitCode: z.number(),
    Error: z.string().default(""),
    StartedAt: Moment,
    FinishedAt: Moment,
  }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }),
});
export type ContainerDetails = z.infer<typeof ContainerDetails>;

export const ListedContainers = z.array(
  z.object({
    Id: z.string(),
    State: z.string().nullish(),
    Labels: z.record(z.string(), z.string()).nullish(),
  }),
);
export type ListedContainer = z.infer<typeof ListedContainers>[number];

/** One line of a pull's progress. A failed pull also has status 200, and one of the lines is its error. */
export const PullProgress = z.object({
  status: z.string().optional(),
  id: z.string().optional(),
  error: z.string().optional(),
});
export type PullProgress = z.infer<typeof PullProgress>;
