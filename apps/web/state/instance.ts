import { signal } from '@preact/signals';
import type { Instance } from '../../../lib/contract/auth.ts';
import { call } from '../api/call.ts';

/** Who can create accounts and servers here; null until `loadInstance` is done. */
export const instance = signal<Instance | null>(null);

/** Loads `instance` once. Throws `ApiError`. */
export async function loadInstance(): Promise<void> {
  instance.value ??= await call<Instance>('GET', '/api/instance');
}
