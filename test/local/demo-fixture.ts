import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { apiClient } from '../../apps/local/api-client.ts';
import type { Demo } from '../../apps/local/demo-notes.ts';
import type { Application } from '../../lib/contract/application.ts';
import type { PickerCommand } from '../../lib/contract/command.ts';
import type { DmChannel as Dm } from '../../lib/contract/dm.ts';
import type { Member } from '../../lib/contract/member.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { Server } from '../../lib/contract/server.ts';
import type { Webhook } from '../../lib/contract/webhook.ts';
import type { TestApi } from '../harness/api.ts';

/** The visible content of a demo. */
export interface DemoContent {
  server: unknown[];
  categories: string[];
  textChannels: { channel: string; kind: string; topic: string | null; overwrites: number; messages: string[] }[];
  webhooks: unknown[];
  roles: string[];
  members: string[];
  invites: number;
  dms: unknown[];
  commands: string[];
  applications: boolean[];
  servers: number;
}

/** Reads the visible content of a demo through the API. Ids are replaced, because they differ between demos. */
export async function readContent(api: TestApi, { person, server }: Pick<Demo, 'person' | 'server'>): Promise<DemoContent> {
  const call = apiClient(api.url, `Bearer ${person.token}`);
  const get = <T>(path: string): Promise<T> => call<T>('GET', path);
  const { channels, roles, name, community, listed } = await get<Server>(`/api/servers/${server.id}`);
  const messagesOf = async (id: string): Promise<unknown[]> =>
    (await get<Message[]>(`/api/channels/${id}/messages`)).map(({ author, content, embeds, pinned, reactions, reply, mentions }) =>
      JSON.stringify([author.displayName, content, embeds.length, pinned, reactions, reply?.content ?? null, mentions.length]),
    );
  const textChannels: unknown[] = [];
  const webhooks: unknown[] = [];
  for (const { id, name: channel, kind, topic, overwrites } of channels) {
    const isTextChannel = kind === 'text' || kind === 'announcement';
    if (isTextChannel || kind === 'thread')
      textChannels.push({ channel, kind, topic, overwrites: overwrites.length, messages: await messagesOf(id) });
    if (!isTextChannel) continue;
    for (const hook of await get<Webhook[]>(`/api/channels/${id}/webhooks`))
      webhooks.push([hook.name, await api.platform.db.deliveries.countDocuments({ webhookId: hook.id })]);
  }
  const dms = await get<Dm[]>('/api/users/@me/channels');
  const content = {
    server: [name, community, listed],
    categories: channels.filter(({ kind }) => kind === 'category').map((one) => one.name),
    textChannels,
    webhooks,
    roles: roles.map((one) => one.name),
    members: (await get<Member[]>(`/api/servers/${server.id}/members`)).map(
      ({ user, roles: held }) => `${user.displayName} ${held.length}`,
    ),
    invites: (await get<unknown[]>(`/api/servers/${server.id}/invites`)).length,
    dms: await Promise.all(dms.map(async ({ id, recipient }) => [recipient.displayName, await messagesOf(id)])),
    commands: (await get<PickerCommand[]>(`/api/channels/${server.channelId}/commands`)).map((one) => one.name),
    applications: (await get<Application[]>('/api/applications')).map(({ inDirectory }) => inDirectory),
    servers: (await get<unknown[]>('/api/servers')).length,
  };
  return JSON.parse(JSON.stringify(content).replace(/\d{19}/g, '#')) as DemoContent;
}

/** A proxy in front of an API that can drop responses. */
export interface LossyProxy {
  url: string;
  /** Passes this many more writes; the responses of all later writes are dropped after the API has executed them. */
  dropAfter(writes: number): void;
  close(): void;
}

/** Starts a proxy that passes everything to `api`. */
export async function startLossyProxy(api: TestApi): Promise<LossyProxy> {
  let left = Number.POSITIVE_INFINITY;
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host: _host, connection: _connection, 'content-length': _length, 'transfer-encoding': _coding, ...headers } = request.headers;
    const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {};
    const answer = await fetch(api.url + request.url, {
      method: request.method ?? '',
      headers: headers as Record<string, string>,
      ...body,
    });
    const text = await answer.text();
    if (request.method !== 'GET' && left-- <= 0) response.destroy();
    else response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text);
  };
  const server = createServer((request, response) => void forward(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    dropAfter: (writes) => {
      left = writes;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
