import { Schema } from 'mongoose';

/** One run of an operators' command that can change something. It is stored before the command runs. */
export interface OperatorAuditDoc {
  _id: string;
  at: Date;
  /** Who ran it: the user of the operating system, or the name that `--as` gives. */
  operator: string;
  command: string;
  /** What the command was given, by name, such as `userId`. Holds no secrets. */
  given: Record<string, unknown>;
  /** `started` while it runs, and if its process died; then `done`, `unchanged`, or the code of the error. */
  outcome: string;
  /** The id of what it changed or created. Absent until then. */
  targetId?: string;
  expiresAt: Date;
}

export const operatorAuditSchema = new Schema<OperatorAuditDoc>({}, { collection: 'operatorAudit' });
operatorAuditSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
