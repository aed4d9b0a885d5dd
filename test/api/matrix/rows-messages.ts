import type { Caller } from '../../harness/requests.ts';
import type { MatrixFixture } from './fixture.ts';
import { account, needs, peopleOnly, refuseAll, viewers } from './roles.ts';
import { type Call, channelCall, type Row, row, withBody } from './row.ts';

const channel = '/api/channels/{channelId}';
const message = `${channel}/messages/{messageId}`;
const reaction = `${message}/reactions/{emoji}`;
const thumb = encodeURIComponent('👍');

const foreignMessage = async (fixture: MatrixFixture): Promise<{ params: string[] }> => ({
  params: [fixture.channelId, await fixture.makeMessage()],
});
const ownMessage = async (fixture: MatrixFixture, by: Caller): Promise<{ params: string[] }> => ({
  params: [fixture.channelId, await fixture.makeMessage({ by })],
});
const own = { perCaller: true, case: 'of the caller' } as const;
const changed = { content: 'changed' };

/** A call with an emoji and a message of the author. */
const emojiCall = async (fixture: MatrixFixture): Promise<{ params: string[] }> => ({
  params: [...(await foreignMessage(fixture)).params, thumb],
});

/** A call with a message of the author that has a reaction of the owner. */
async function reactionCall(fixture: MatrixFixture): Promise<Call> {
  const { params } = await emojiCall(fixture);
  await fixture.api.call('PUT', `/api/channels/${params[0]}/messages/${params[1]}/reactions/${thumb}`, { as: fixture.owner.as });
  return { params };
}

/** A call with a pinned message of the author. */
async function pinCall(fixture: MatrixFixture): Promise<Call> {
  const { params } = await foreignMessage(fixture);
  await fixture.api.call('PUT', `/api/channels/${params[0]}/pins/${params[1]}`, { as: fixture.owner.as });
  return { params };
}

/** A post with one small file. */
function uploadCall({ channelId }: MatrixFixture): Call {
  const boundary = 'matrix';
  const part = (head: string, text: string): string => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const file = part('name="files"; filename="note.txt"\r\nContent-Type: text/plain', 'a note');
  const body = `${part('name="payload_json"', '{"content":"with a file"}')}${file}--${boundary}--\r\n`;
  return { params: [channelId], body, headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` } };
}

/** Reading, posting, editing and deleting messages (docs/behavior/messages.md#posting). */
const postRows: readonly Row[] = [
  row(`GET ${channel}/messages`, viewers, 200, channelCall),
  row(`POST ${channel}/messages`, [...viewers, needs('Send Messages')], 201, withBody(channelCall, { content: 'hello' })),
  row(`POST ${channel}/messages`, [...viewers, needs('Send Messages'), needs('Attach Files')], 201, uploadCall, 'with a file'),
  row(`GET ${message}`, viewers, 200, foreignMessage),
  row(`PATCH ${message}`, [...viewers, refuseAll('403 not_author')], 200, withBody(foreignMessage, changed), 'of another author'),
  row(`PATCH ${message}`, viewers, 200, withBody(ownMessage, changed), own),
  row(`DELETE ${message}`, [...viewers, needs('Manage Messages')], 204, foreignMessage, 'of another author'),
  row(`DELETE ${message}`, viewers, 204, ownMessage, own),
];

/** A call with a message of the announcement channel. */
const newsCall = async (fixture: MatrixFixture, by?: Caller): Promise<Call> => ({
  params: [fixture.newsId, await fixture.makeMessage({ channelId: fixture.newsId, ...(by && { by }) })],
});
/** Reactions, pins and crossposts (docs/behavior/messages.md#reactions). */
const aroundRows: readonly Row[] = [
  row(`GET ${reaction}`, viewers, 200, reactionCall),
  row(`PUT ${reaction}`, [...viewers, needs('Add Reactions')], 204, emojiCall, 'a new emoji'),
  row(`PUT ${reaction}`, viewers, 204, reactionCall, 'an emoji that is there'),
  row(`DELETE ${reaction}`, viewers, 204, reactionCall),
  row(`GET ${channel}/pins`, viewers, 200, channelCall),
  row(`PUT ${channel}/pins/{messageId}`, [...viewers, needs('Manage Messages')], 204, foreignMessage),
  row(`DELETE ${channel}/pins/{messageId}`, [...viewers, needs('Manage Messages')], 204, pinCall),
  row(`POST ${message}/crosspost`, [...viewers, needs('Manage Messages')], 200, (fixture) => newsCall(fixture), 'of another author'),
  row(
    `POST ${message}/crosspost`,
    [...viewers, (role) => (role.holds.includes('Manage Messages') ? null : needs('Send Messages')(role))],
    200,
    newsCall,
    own,
  ),
];

/** Direct messages (docs/behavior/accounts.md#direct-messages). */
const dmRows: readonly Row[] = [
  row('GET /api/users/@me/channels', account, 200, () => ({})),
  row(
    'POST /api/users/@me/channels',
    [...account, (role) => (role.inside ? null : '403 no_shared_server')],
    201,
    (fixture) => ({ body: { recipientId: fixture.author.id } }),
    'with a member of the server',
  ),
  row(
    'POST /api/users/@me/channels',
    [...account, refuseAll('400 invalid_request')],
    201,
    (_fixture, caller) => ({ body: { recipientId: caller.id } }),
    { ...own, case: 'with oneself' },
  ),
];

/** The rows of messages and direct messages. */
export const messageRows: readonly Row[] = [...postRows, ...aroundRows, ...dmRows];

/** A row for each route of channels with a DM of two other people, which nobody may know of. */
export const strangersRows = (rows: readonly Row[]): Row[] =>
  rows
    .filter((one, at) => / \/api\/channels\/\{/.test(one.route) && rows.findIndex(({ route }) => route === one.route) === at)
    .map((one) => ({
      ...one,
      case: 'in a DM of two others',
      who: [...one.who.filter((rule) => peopleOnly.includes(rule)), refuseAll('404 not_found')],
      async call(fixture, caller) {
        const { params = [], ...rest } = await one.call(fixture, caller);
        const [, second, ...others] = params;
        const target = /\/(messages|pins|followers)\/\{/.test(one.route) ? fixture.dm.messageId : second;
        return { ...rest, params: [fixture.dm.channelId, ...(target === undefined ? [] : [target]), ...others] };
      },
    }));
