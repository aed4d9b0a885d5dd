import { ApiError, parseResponse, unreachable } from './call.ts';
import { shownAccountHeaders } from './shown-account.ts';

/** The input of `upload`: the path, the message, the files and a callback for the progress (0 to 1). */
export interface Upload {
  path: string;
  payload: unknown;
  files: readonly File[];
  key: string;
  onProgress: (part: number) => void;
  signal?: AbortSignal;
}

/** Posts a message with files as `multipart/form-data`. Uses XMLHttpRequest because `fetch` does not report upload progress. Throws `ApiError`. */
export function upload<T>({ path, payload, files, key, onProgress, signal }: Upload): Promise<T> {
  const form = new FormData();
  form.append('payload_json', JSON.stringify(payload));
  for (const file of files) form.append('files', file, file.name);
  return new Promise<T>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    request.setRequestHeader('Idempotency-Key', key);
    for (const [name, value] of Object.entries(shownAccountHeaders())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total, lengthComputable }) => {
      if (lengthComputable) onProgress(loaded / total);
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new ApiError(0, { code: 'aborted', message: 'The upload was canceled.' }));
    request.onload = () => {
      try {
        resolve(parseResponse<T>(request.status, request.responseText, { method: 'POST', path, isPicture: false }));
      } catch (fault) {
        reject(fault);
      }
    };
    signal?.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}
