import { expect } from 'chai';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startEndpoint } from '../harness/endpoint.ts';
import { type Bot, makeBot, password, postMessage } from '../harness/factories.ts';
import { entriesOf } from '../harness/log.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../harness/otlp-receiver.ts';
import { recordEvents, startParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { newBot, use, useServer } from '../harness/use.ts';

const postRoute = 'POST /api/channels/{channelId}/messages';
const invokeRoute = 'POST /api/channels/{channelId}/commands/{commandId}/invoke';
const secretHeader = 'a-header-to-look-for';

/** The span with this name below `parent`. */
const childOf = (receiver: OtlpReceiver, parent: ReceivedSpan, name: string): Promise<ReceivedSpan> =>
  receiver.waitFor((span) => span.name === name && span.parentSpanId === parent.spanId && span.traceId === parent.traceId);

/** The span of the request that got this id. */
const requestSpan = (receiver: OtlpReceiver, requestId: string | null): Promise<ReceivedSpan> =>
  receiver.waitFor(({ attributes }) => attributes['parlance.request_id'] === requestId);

describe('traces', () => {
  const receiver = use(startOtlpReceiver);
  const endpoint = use(startEndpoint);
  const { api, owner, server, bot } = useServer(
    { bot: newBot() },
    {
      start: () =>
        startParlance({
          OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
          OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secretHeader}`,
          OUTBOUND_ALLOW: endpoint.site.pair,
        }),
    },
  );
  const recorder = useRecorder(api, bot);
  const post = async (content: string, headers: Record<string, string> = {}): Promise<string | null> => {
    const answer = await api.call('POST', `/api/channels/${server.general}/messages`, { as: owner.as, body: { content }, headers });
    expect(answer.status).to.equal(201);
    await recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content);
    return answer.headers.get('X-Request-Id');
  };

  /** Lets the owner use a new command of the bot; returns the span of the request. */
  const useCommand = async ({ applicationId, ...as }: Bot): Promise<ReceivedSpan> => {
    const commands = [{ name: 'hello', description: 'says hello' }];
    const [command] = await send<{ id: string }[]>(api, 200, { ...as }, 'PUT', `/api/applications/${applicationId}/commands`, commands);
    const path = `/api/channels/${server.general}/commands/${command?.id}/invoke`;
    const used = await api.call('POST', path, { as: owner.as, body: {} });
    expect(used.status, JSON.stringify(used.body)).to.equal(202);
    return requestSpan(receiver, used.headers.get('X-Request-Id'));
  };

  it('follow a post from its request to the write to the sockets, in one trace of three services', async () => {
    await post('first'); // for the later ones the node knows who may view the channel
    const request = await requestSpan(receiver, await post('followed'));
    const insert = await childOf(receiver, request, 'insert message');
    const relay = await childOf(receiver, request, 'relay MESSAGE_CREATE');
    const deliver = await childOf(receiver, relay, 'deliver MESSAGE_CREATE');
    expect(request).to.deep.include({ name: postRoute, service: 'parlance-api', parentSpanId: '', hasFailed: false });
    expect(request.attributes).to.deep.include({ 'http.route': postRoute.slice(5), 'http.response.status_code': 201 });
    expect([insert.service, relay.service, deliver.service]).to.deep.equal(['parlance-api', 'parlance-worker', 'parlance-gateway']);
    expect(deliver.attributes).to.deep.include({ 'parlance.event': 'MESSAGE_CREATE', 'parlance.sockets': 1 });
  });

  it('begin with each request, whatever traceparent the client sends', async () => {
    const traceId = 'a'.repeat(32);
    const request = await requestSpan(receiver, await post('foreign', { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` }));
    expect(request.parentSpanId).to.equal('');
    expect(request.traceId).not.to.equal(traceId);
  });

  it('mark a request that failed on our side, and no other', async () => {
    const refused = await api.call('POST', `/api/channels/${server.general}/messages`, { as: owner.as, body: {} });
    const request = await requestSpan(receiver, refused.headers.get('X-Request-Id'));
    expect([request.attributes['http.response.status_code'], request.hasFailed]).to.deep.equal([400, false]);
  });

  it('follow a slash command to the gateway', async () => {
    const request = await useCommand(bot);
    expect(request.name).to.equal(invokeRoute);
    const job = await childOf(receiver, request, 'job deliver-interaction');
    expect(job.service).to.equal('parlance-worker');
    await childOf(receiver, await childOf(receiver, request, 'relay INTERACTION_CREATE'), 'deliver INTERACTION_CREATE');
  });

  it('follow a slash command to an Interactions Endpoint, which gets no traceparent', async () => {
    const other = await makeBot(api, owner, server.id);
    await send(api, 200, owner, 'PATCH', `/api/applications/${other.applicationId}`, { interactionsEndpointUrl: endpoint.url });
    const request = await useCommand(other);
    const posted = await childOf(receiver, await childOf(receiver, request, 'job post-interaction'), 'post to endpoint');
    expect(posted.attributes['http.response.status_code']).to.equal(200);
    expect(Object.keys(endpoint.received[0]?.headers ?? {}))
      .to.include('x-service-signature')
      .and.not.include('traceparent');
  });

  it('are no part of what clients receive', async () => {
    const session = await recordEvents(api, bot.token);
    await post('plain');
    const event = await session.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === 'plain');
    const [logged] = (await entriesOf(api.platform.config, serverPlace(server.id))).filter(({ data }) => data.content === 'plain');
    expect(logged?.head.trace).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(JSON.stringify([event, logged?.data])).not.to.contain(logged?.head.trace);
    await session.client.close();
  });

  it('contain no content, password, token or id of an account, server, channel or message', async () => {
    const login = await api.call<{ token: string }>('POST', '/api/auth/login', { body: { username: owner.username, password } });
    const id = await post('words-to-look-for');
    const message = await postMessage(api, owner, server.general, 'more-words-to-look-for');
    const relay = await childOf(receiver, await requestSpan(receiver, id), 'relay MESSAGE_CREATE');
    await childOf(receiver, relay, 'deliver MESSAGE_CREATE');
    const last = await api.call('GET', `/api/channels/${server.general}/messages/${message.id}?x=query-to-look-for`, { as: owner.as });
    await requestSpan(receiver, last.headers.get('X-Request-Id'));
    const hidden = [login.body.token, password, owner.token, bot.token, 'words-to-look-for', 'query-to-look-for', secretHeader];
    for (const text of [...hidden, owner.id, owner.username, server.id, server.general, message.id])
      expect(receiver.bytes()).not.to.contain(text);
    expect(receiver.headers.every(({ authorization }) => authorization === `Bearer ${secretHeader}`)).to.equal(true);
  });
});
