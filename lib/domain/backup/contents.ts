import { bytesPerMib } from '../../base/limits.ts';
import type { Collections } from '../../store/mongo/database.ts';

/**
 * What a backup does with each collection, in the order in which it reads them (docs/store.md#backups). What refers to something is read before it, so that
 * nothing in the backup refers to something that was created later. The intents of deletions come last: whatever was deleted after it was read has its intent
 * in the backup. `with` names the collection whose pages it is read with. `omitted` lives for an hour at most, can be made again, or belongs to one database.
 */
export const backupContents: Readonly<Record<keyof Collections, 'read' | 'omitted' | { with: keyof Collections }>> = {
  migrations: 'read',
  reads: 'read',
  messages: 'read',
  reactions: { with: 'messages' },
  deliveries: 'read',
  follows: 'read',
  interactions: 'read',
  commands: 'read',
  audit: 'read',
  operatorAudit: 'read',
  bans: 'read',
  invites: 'read',
  webhooks: 'read',
  members: 'read',
  memberships: { with: 'members' },
  tokens: 'read',
  dms: 'read',
  channels: 'read',
  servers: 'read',
  applications: 'read',
  accounts: 'read',
  files: 'read',
  notices: 'read',
  removals: 'read',
  loginCodes: 'omitted',
  passwordResets: 'omitted',
  cooldowns: 'omitted',
  exports: 'omitted',
  idempotency: 'omitted',
  meta: 'omitted',
  log: 'omitted',
};

/** The name of a collection in the code. */
export type CollectionName = keyof Collections;

const names = Object.keys(backupContents) as CollectionName[];

/** The collections that a backup pages through, in order. */
export const pagedCollections = names.filter((name) => backupContents[name] === 'read');

/** The collections that a backup contains. */
export const containedCollections = names.filter((name) => backupContents[name] !== 'omitted');

/** The collections that must be empty before a restore. A database without data may have its key, the state of its log and its ledger of migrations. */
export const collectionsOfData = names.filter((name) => !['meta', 'log', 'migrations'].includes(name));

/** The version of the format. A reader refuses any other. */
export const backupFormat = 1;

/** What a backup says about itself in its first entry. */
export interface BackupManifest {
  format: typeof backupFormat;
  /** Identifies the backup: a UUID. */
  id: string;
  /** The version of Parlance that made it. */
  parlance: string;
  createdAt: string;
  /** The ids of the keys under which its secrets are encrypted. They do not reveal the keys. */
  keys: string[];
  /** The migrations that its database has had, and the collections that it may contain. */
  migrations: string[];
  collections: string[];
  /** The public address that the addresses of pictures in it begin with. */
  baseUrl: string;
  /** The highest epoch of its event log. */
  epoch: number;
}

/** What a backup says about itself in its last entry. */
export interface BackupSummary {
  id: string;
  /** The number of documents of each collection. */
  documents: Partial<Record<CollectionName, number>>;
  files: { count: number; bytes: number };
  /** The number of files in the database whose bytes were not in the store. */
  missingFiles: number;
  /** The SHA-256 of the lines `<SHA-256>  <name>` of all entries before, in hex. */
  sha256: string;
}

/** A backup cannot be made or restored, or is damaged. The message says why, and what to do. */
export class BackupError extends Error {}

/** The names of the first and the last entry of an archive. */
export const entryNames = { manifest: 'backup.json', summary: 'summary.json' } as const;
/** The names of entries with the bytes of a blob, and with documents of a collection. */
export const blobEntry = /^blobs\/([a-z0-9-]{1,64})$/;
export const documentsEntry = /^([A-Za-z]+)\/\d+\.bson$/;

/** How many bytes an entry with documents has at most. A page ends with the document that exceeds `pageBytes`, and a document has at most 16 MiB. */
export const pageBytes = 4 * bytesPerMib;
export const maxBufferedBytes = 64 * bytesPerMib;

/** The size of a backup's files as people read it. */
export const formatFileBytes = (bytes: number): string => `${(bytes / bytesPerMib).toFixed(1)} MiB`;
