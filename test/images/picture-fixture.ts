import { expect } from 'chai';
import type { Picture } from '../../lib/contract/shared.ts';
import { fileDocs, onDisk } from '../files/fixture.ts';
import type { Answer, TestApi } from '../harness/api.ts';
import type { Caller } from '../harness/requests.ts';

/** A picture of a resource: the path to upload it, a caller who may, and the URL that the resource has now. */
export interface PictureTarget {
  path: string;
  as: Caller;
  currentUrl: () => Promise<string | null | undefined>;
}

/** The body of the response to an upload: the picture's URL, or an error. */
export type Put = Picture & { code: string; missing?: string[] };

/** Uploads a picture as the raw body. */
export async function put(
  url: string,
  path: string,
  as: string | null,
  image: Buffer | string,
  type: string | null = 'image/png',
): Promise<Answer<Put>> {
  const body = new Blob([typeof image === 'string' ? image : new Uint8Array(image)]);
  const headers = { ...(as ? { Authorization: as } : {}), ...(type ? { 'Content-Type': type } : {}) };
  const response = await fetch(url + path, { method: 'PUT', headers, body });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Put };
}

/** Expects that exactly the files of these URLs are stored, each with its blob. */
export async function expectOnly(api: TestApi, urls: readonly (string | null | undefined)[]): Promise<void> {
  const docs = await fileDocs(api);
  const keys = [...new Set(urls.flatMap((url) => (url ? [new URL(url).pathname.split('/')[2] ?? ''] : [])))];
  expect(docs.map(({ key }) => key).toSorted()).to.deep.equal(keys.toSorted());
  for (const { openAt, original, state } of docs) expect([openAt, original, state]).to.deep.equal([undefined, undefined, 'stored']);
  const { blobs, incoming } = await onDisk(api);
  expect([blobs, incoming]).to.deep.equal([docs.map(({ blob }) => blob).toSorted(), []]);
}
