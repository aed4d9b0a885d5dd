import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '../../lib/contract/message.ts';
import type { Sync } from '../../lib/contract/sync.ts';
import { type BotClient, connectBot } from '../harness/bot-client.ts';
import type { Stack } from '../harness/stack.ts';
import type { Ledger, Post } from './ledger.ts';
import type { Population } from './population.ts';
import { call } from './requests.ts';

const pageSize = 100;
/** The pause before a failed request is sent again, in milliseconds. */
const againMs = 200;

/** The channel and number in a post's content, with the message id. */
function readPost(message: Pick<Message, 'id' | 'content'>): { channel: number; post: Post } {
  const [channel = -1, n = -1] = message.content.split(' ').map(Number);
  return { channel, post: { n, id: message.id } };
}

/**
 * Connects a reader, records what it receives in the ledger, resumes it after every interruption, and fetches what it lacks after op 9. Calls `onReconnect`
 * when it connects again.
 */
export function connectReader(
  stack: Stack,
  { readers, channels }: Population,
  reader: number,
  ledger: Ledger,
  onReconnect: () => void,
): BotClient {
  const { token, as, channels: own } = readers[reader] as Population['readers'][number];
  let sessions = 0;
  let closed = false;
  const get = async <T>(path: string): Promise<T> => {
    for (let tries = 0; ; tries++) {
      const { status, body } = await call<T>('GET', stack.apiUrl(reader + tries) + path, as);
      ledger.answered(status);
      if (status === 200 || closed) return body;
      await sleep(againMs);
    }
  };
  const newestIn = async (): Promise<Map<string, string>> => {
    const newest = new Map<string, string>();
    for (let after: string | null = ''; after !== null && !closed; ) {
      const page: Sync = await get(`/api/users/@me/sync${after && `?after=${after}`}`);
      for (const { channelId, lastMessageId } of page?.reads ?? []) newest.set(channelId, lastMessageId ?? '');
      after = page?.next ?? null;
    }
    return newest;
  };
  const postsAfter = async (id: string, from: string): Promise<Post[]> => {
    const posts: Post[] = [];
    for (let after = from; !closed; ) {
      const page = await get<Message[]>(`/api/channels/${id}/messages?limit=${pageSize}&after=${after || '0'.repeat(19)}`);
      posts.push(...(page ?? []).map((message) => readPost(message).post));
      after = page?.at(-1)?.id ?? after;
      if (!page || page.length < pageSize) break;
    }
    return posts;
  };
  /** Fetches like a client with a new session: first the newest message id of each channel, then the messages of the channels where it lacks some. */
  const fetchMissed = async (session: number): Promise<void> => {
    const newest = await newestIn();
    for (const channel of own) {
      const { id = '' } = channels[channel] ?? {};
      const from = ledger.lastId(reader, channel);
      const posts = (newest.get(id) ?? '') > from ? await postsAfter(id, from) : [];
      if (closed || session !== sessions) return; // op 9 was received again
      ledger.fetched(reader, channel, posts);
    }
  };
  const client = connectBot({
    urlOf: (attempt) => {
      if (attempt > 0) onReconnect();
      return stack.gatewayUrl(reader + attempt);
    },
    token,
    onReady: () => {
      ledger.began(reader);
      if (client.stats.invalidated > 0) void fetchMissed(sessions);
    },
    onInvalid: () => {
      sessions++;
      ledger.invalidated(reader);
    },
    onEvent: ({ t, d }) => {
      if (t !== 'MESSAGE_CREATE') return;
      const { channel, post } = readPost(d as Message);
      ledger.received(reader, channel, post);
    },
  });
  return {
    ...client,
    close: () => {
      closed = true;
      return client.close();
    },
  };
}
