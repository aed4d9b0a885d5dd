import type { Caller } from '../../harness/factories.ts';
import { account, needs, peopleOnly, refuseAll, viewers } from './roles.ts';
import { type Call, type Row, row } from './row.ts';
import type { Stage } from './stage.ts';

const channel = '/api/channels/{channelId}';
const message = `${channel}/messages/{messageId}`;
const reaction = `${message}/reactions/{emoji}`;
const thumb = encodeURIComponent('👍');

const here = ({ channelId }: Stage): Call => ({ at: [channelId] });
const someones = async (stage: Stage): Promise<{ at: string[] }> => ({ at: [stage.channelId, await stage.message()] });
const ones = async (stage: Stage, by: Caller): Promise<{ at: string[] }> => ({ at: [stage.channelId, await stage.message({ by })] });
const own = { own: true } as const;

/** A message of someone's that has this reaction of the owner's. */
async function reacted(stage: Stage): Promise<Call> {
  const { at } = await someones(stage);
  await stage.api.call('PUT', `/api/channels/${at[0]}/messages/${at[1]}/reactions/${thumb}`, { as: stage.owner.as });
  return { at: [...at, thumb] };
}

/** A message of someone's that is pinned. */
async function pinned(stage: Stage): Promise<Call> {
  const { at } = await someones(stage);
  await stage.api.call('PUT', `/api/channels/${at[0]}/pins/${at[1]}`, { as: stage.owner.as });
  return { at };
}

/** A post with one small file. */
function upload({ channelId }: Stage): Call {
  const boundary = 'matrix';
  const part = (head: string, text: string): string => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const file = part('name="files"; filename="note.txt"\r\nContent-Type: text/plain', 'a note');
  const body = `${part('name="payload_json"', '{"content":"with a file"}')}${file}--${boundary}--\r\n`;
  return { at: [channelId], body, headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` } };
}

/** Reading, posting, editing and deleting messages (docs/behavior/messages.md#posting). */
const postRows: readonly Row[] = [
  row(`GET ${channel}/messages`, viewers, 200, here),
  row(`POST ${channel}/messages`, [...viewers, needs('Send Messages')], 201, (stage) => ({ ...here(stage), body: { content: 'hello' } })),
  row(`POST ${channel}/messages`, [...viewers, needs('Send Messages'), needs('Attach Files')], 201, upload, { case: 'with a file' }),
  row(`GET ${message}`, viewers, 200, someones),
  row(
    `PATCH ${message}`,
    [...viewers, refuseAll('403 not_author')],
    200,
    async (stage) => ({ ...(await someones(stage)), body: { content: 'changed' } }),
    { case: 'someone else’s' },
  ),
  row(`PATCH ${message}`, viewers, 200, async (stage, caller) => ({ ...(await ones(stage, caller)), body: { content: 'changed' } }), {
    ...own,
    case: 'one’s own',
  }),
  row(`DELETE ${message}`, [...viewers, needs('Manage Messages')], 204, someones, { case: 'someone else’s' }),
  row(`DELETE ${message}`, viewers, 204, ones, { ...own, case: 'one’s own' }),
];

/** Reactions, pins and crossposts (docs/behavior/messages.md#reactions). */
const aroundRows: readonly Row[] = [
  row(`GET ${reaction}`, viewers, 200, reacted),
  row(`PUT ${reaction}`, [...viewers, needs('Add Reactions')], 204, async (stage) => ({ at: [...(await someones(stage)).at, thumb] }), {
    case: 'a new emoji',
  }),
  row(`PUT ${reaction}`, viewers, 204, reacted, { case: 'an emoji that is there' }),
  row(`DELETE ${reaction}`, viewers, 204, reacted),
  row(`GET ${channel}/pins`, viewers, 200, here),
  row(`PUT ${channel}/pins/{messageId}`, [...viewers, needs('Manage Messages')], 204, someones),
  row(`DELETE ${channel}/pins/{messageId}`, [...viewers, needs('Manage Messages')], 204, pinned),
  row(
    `POST ${message}/crosspost`,
    [...viewers, needs('Manage Messages')],
    200,
    async (stage) => ({ at: [stage.newsId, await stage.message({ channelId: stage.newsId })] }),
    { case: 'someone else’s' },
  ),
  row(
    `POST ${message}/crosspost`,
    [...viewers, (role) => (role.holds.includes('Manage Messages') ? null : needs('Send Messages')(role))],
    200,
    async (stage, by) => ({ at: [stage.newsId, await stage.message({ channelId: stage.newsId, by })] }),
    { ...own, case: 'one’s own' },
  ),
];

/** Direct messages (docs/behavior/accounts.md#direct-messages). */
const dmRows: readonly Row[] = [
  row('GET /api/users/@me/channels', account, 200, () => ({})),
  row(
    'POST /api/users/@me/channels',
    [...account, (role) => (role.inside ? null : '403 no_shared_server')],
    201,
    (stage) => ({ body: { recipientId: stage.author.id } }),
    { case: 'with a member of the server' },
  ),
  row(
    'POST /api/users/@me/channels',
    [...account, refuseAll('400 invalid_request')],
    201,
    (_stage, caller) => ({ body: { recipientId: caller.id } }),
    { ...own, case: 'with oneself' },
  ),
];

/** The rows of messages and direct messages. */
export const messageRows: readonly Row[] = [...postRows, ...aroundRows, ...dmRows];

/** Each route of channels once more, in a direct message of two others: nobody may know of it. */
export const strangersRows = (rows: readonly Row[]): Row[] =>
  rows
    .filter((one, at) => / \/api\/channels\/\{/.test(one.route) && rows.findIndex(({ route }) => route === one.route) === at)
    .map((one) => ({
      ...one,
      case: 'in a direct message of two others',
      who: [...one.who.filter((rule) => peopleOnly.includes(rule)), refuseAll('404 not_found')],
      async call(stage, caller) {
        const { at = [], ...rest } = await one.call(stage, caller);
        const [, second, ...others] = at;
        const names = /\/(messages|pins|followers)\/\{/.test(one.route) ? stage.dm.messageId : second;
        return { ...rest, at: [stage.dm.channelId, ...(names === undefined ? [] : [names]), ...others] };
      },
    }));
