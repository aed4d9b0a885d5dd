import type { Config } from '../../../config/index.ts';
import { openFolderBlobs } from './folder.ts';
import { openS3Blobs } from './s3.ts';
import type { Blobs } from './store.ts';

/** The blob store that `config` selects: S3 if S3_ENDPOINT is set, else the folder FILES_DIR. It connects or creates folders only on first use. */
export const openBlobs = (config: Config): Blobs => (config.S3_ENDPOINT === '' ? openFolderBlobs(config.FILES_DIR) : openS3Blobs(config));
