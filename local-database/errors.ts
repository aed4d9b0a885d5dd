import { MalformedBson } from './bson-scan.ts';
import { PostgresError, PostgresUnavailable } from './postgres/connection.ts';

/** An error of a command in MongoDB's terms. */
export class CommandError extends Error {
  readonly code: number;
  readonly codeName: string;
  /** Additional fields of the reply. */
  extra: Record<string, unknown> = {};

  constructor(code: number, codeName: string, message: string) {
    super(message);
    this.code = code;
    this.codeName = codeName;
  }

  /** The reply that reports this error. */
  toReply(): Record<string, unknown> {
    return { ok: 0, errmsg: this.message, code: this.code, codeName: this.codeName, ...this.extra };
  }
}

const duplicateKey: [number, string] = [11000, 'DuplicateKey'];
const writeConflict: [number, string] = [112, 'WriteConflict'];
const shutdown: [number, string] = [91, 'ShutdownInProgress'];

/** SQLSTATE → MongoDB's code and name. SQLSTATEs that begin with M are specific to the engine. */
const codes: Record<string, [number, string]> = {
  '23505': duplicateKey,
  '23P01': duplicateKey,
  M001C: duplicateKey,
  '40001': writeConflict,
  '40P01': writeConflict,
  M00F1: writeConflict,
  '55P03': [24, 'LockTimeout'],
  M00EW: [24, 'LockTimeout'],
  '57014': [50, 'MaxTimeMSExpired'],
  M00EX: [50, 'MaxTimeMSExpired'],
  '42P01': [26, 'NamespaceNotFound'],
  M0008: [26, 'NamespaceNotFound'],
  '0A000': [115, 'CommandNotSupported'],
  M000U: [115, 'CommandNotSupported'],
  '22P02': [2, 'BadValue'],
  '22023': [2, 'BadValue'],
  '53100': [14031, 'OutOfDiskSpace'],
  '53300': shutdown,
  '57P01': shutdown,
  '57P02': shutdown,
  '57P03': shutdown,
  M00F0: shutdown,
  M0001: [2, 'BadValue'],
  M0003: [9, 'FailedToParse'],
  M0004: [14, 'TypeMismatch'],
  M0005: [15, 'Overflow'],
  M0006: [20, 'IllegalOperation'],
  M0009: [27, 'IndexNotFound'],
  M000A: [28, 'PathNotViable'],
  M000D: [40, 'ConflictingUpdateOperators'],
  M000E: [43, 'CursorNotFound'],
  M000F: [48, 'NamespaceExists'],
  M000G: [52, 'DollarPrefixedFieldName'],
  M000J: [56, 'EmptyFieldName'],
  M000K: [57, 'DottedFieldName'],
  M000M: [66, 'ImmutableField'],
  M000N: [67, 'CannotCreateIndex'],
  M000O: [68, 'IndexAlreadyExists'],
  M000P: [72, 'InvalidOptions'],
  M000Q: [73, 'InvalidNamespace'],
  M000R: [85, 'IndexOptionsConflict'],
  M000S: [86, 'IndexKeySpecsConflict'],
  M00CO: [121, 'DocumentFailedValidation'],
  M000W: [146, 'ExceededMemoryLimit'],
  M0012: [197, 'InvalidIndexSpecificationOption'],
  M0015: [241, 'ConversionFailure'],
  M001B: [10334, 'BSONObjectTooLarge'],
  M007U: [40324, 'UnrecognizedCommand'],
  M0088: [40415, 'UnknownField'],
};

/** Whether a command may be retried: it lost a deadlock or a serialization race and changed nothing. */
export function isLostRace(error: unknown): boolean {
  return error instanceof PostgresError && (error.sqlState === '40P01' || error.sqlState === '40001');
}

/** Whether a unique index refused a write. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof PostgresError && codes[error.sqlState] === duplicateKey;
}

/** Converts any error to MongoDB's terms. */
export function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof PostgresUnavailable) return new CommandError(...shutdown, `the database is unavailable: ${error.message}`);
  if (error instanceof MalformedBson) return new CommandError(22, 'InvalidBSON', `malformed BSON: ${error.message}`);
  if (!(error instanceof PostgresError)) return new CommandError(1, 'InternalError', String(error));
  return fromSqlState(error.sqlState, error.message);
}

/** Converts a SQLSTATE and its message to MongoDB's terms. */
export function fromSqlState(sqlState: string, message: string): CommandError {
  const [code, name] = codes[sqlState] ?? (sqlState.startsWith('M0') ? [2, 'BadValue'] : [1, 'InternalError']);
  const text = code === 11000 && !message.startsWith('E11000') ? `E11000 duplicate key error: ${message}` : message;
  return new CommandError(code, name, text);
}

/** Unpacks the SQLSTATE that the engine packed into a number, six bits per character; undefined for a plain code. */
export function unpackSqlState(code: number): string | undefined {
  if (code < 1 << 20) return undefined;
  return [0, 6, 12, 18, 24].map((shift) => String.fromCharCode(((code >> shift) & 63) + 48)).join('');
}
