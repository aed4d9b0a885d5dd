import { DiagnosticSeverity, Parser } from '@asyncapi/parser';
import { expect } from 'chai';
import { renderAsyncApi } from '../../apps/api/documents/asyncapi.ts';
import { closeCodes } from '../../lib/contract/close-codes.ts';
import { type EventName, events, optInEvents } from '../../lib/contract/events.ts';
import { type OpcodeName, opcodes } from '../../lib/contract/gateway.ts';
import { listFrameFaults, requireDocumentedClose, requireDocumentedFrame } from '../harness/gateway-document.ts';

type Json = Record<string, unknown>;
interface Message {
  summary: string;
  description?: string;
  payload: { properties: Record<string, Json> };
  examples: { payload: Json }[];
  'x-permission'?: string | null;
  'x-bots'?: string;
}
interface Document {
  info: { description: string };
  servers: Record<string, Json>;
  operations: Record<string, { action: string; messages: Json[]; reply?: { messages: Json[] } }>;
  components: { messages: Record<string, Message>; schemas: Json };
  'x-close-codes': { code: number; cause: string; reconnect: string }[];
}

const render = (): Document => JSON.parse(JSON.stringify(renderAsyncApi('wss://chat.example.org/gateway')));

/** The errors and warnings of the AsyncAPI parser, one line each. Hints about governance, such as a missing licence, are information. */
async function problemsOf(document: Document): Promise<string[]> {
  const diagnostics = await new Parser().validate(JSON.stringify(document));
  return diagnostics
    .filter(({ severity }) => severity === DiagnosticSeverity.Error || severity === DiagnosticSeverity.Warning)
    .map(({ code, path, message }) => `${path.join('/')}: ${message} (${code})`);
}

const eventNames = Object.keys(events) as EventName[];

describe('AsyncAPI document', () => {
  it('has no errors and no warnings', async () => expect(await problemsOf(render())).to.deep.equal([]));

  it('has a message and an operation for every event and every opcode, with an example', () => {
    const { components, operations } = render();
    const codes = new Set<unknown>();
    for (const [key, { summary, examples, payload }] of Object.entries(components.messages)) {
      expect(summary, key).to.match(/^[A-Z].+\.$/);
      expect(examples, key).to.have.length(1);
      codes.add(payload.properties.op?.const);
    }
    expect([...codes]).to.have.members((Object.keys(opcodes) as OpcodeName[]).map((name) => opcodes[name].code));
    expect(components.messages).to.include.keys(...eventNames, 'READY', 'RESUMED', 'identify', 'resume', 'watch', 'watchAnswer');
    const used = Object.values(operations).flatMap(({ messages }) => messages.map(({ $ref }) => String($ref).split('/').at(-1)));
    expect(used).to.have.members(Object.keys(components.messages));
    expect(operations).to.include.keys('sendMessageCreate', 'sendReady', 'receiveIdentify', 'receiveHeartbeat', 'sendHello');
  });

  it('says for every event who receives it, with which permission, and how a bot gets it', () => {
    const { messages } = render().components;
    for (const name of eventNames) {
      const { description = '', ...message } = messages[name] ?? expect.fail(name);
      expect(description, name).to.match(/receives? it/);
      const permission = message['x-permission'];
      expect(description, name).to.contain(permission ? `Needs the permission ${permission}` : 'Needs no permission.');
      expect(message['x-bots'] === 'on request', name).to.equal(optInEvents.includes(name));
    }
    expect(messages.MESSAGE_CREATE).to.include({ 'x-permission': 'View Channel', 'x-bots': 'always' });
    expect(messages.INTERACTION_CREATE).to.include({ 'x-permission': 'View Channel', 'x-bots': 'always' });
    expect(messages.ROLE_UPDATE).to.include({ 'x-permission': null, 'x-bots': 'on request' });
  });

  it('has every close code, in the text as well', () => {
    const { info, 'x-close-codes': codes } = render();
    expect(codes.map(({ code }) => code)).to.deep.equal(Object.values(closeCodes).map(({ code }) => code));
    for (const { code, cause } of codes) expect(info.description).to.contain(`| ${code} | ${cause} |`);
    expect(codes.filter(({ reconnect }) => reconnect === 'no').map(({ code }) => code)).to.deep.equal([4002, 4004, 4012]);
  });

  it('has the payloads as named schemas', () => {
    expect(render().components.schemas).to.include.keys('Message', 'MessageDeleted', 'ReactionChange', 'Interaction', 'Identify', 'Ready');
  });

  it('has examples that match the schemas, without undescribed fields', () => {
    const { components, operations } = render();
    const faultsOf = ({ examples: [example] }: Message, action: string): string[] =>
      listFrameFaults(example?.payload as { op: number }, action === 'send' ? 'gateway' : 'client');
    for (const { action, messages } of Object.values(operations)) {
      const key = String(messages[0]?.$ref).split('/').at(-1) ?? '';
      expect(faultsOf(components.messages[key] ?? expect.fail(key), action), key).to.deep.equal([]);
    }
  });

  const pins = { op: 0, t: 'PINS_UPDATE', s: '1', d: { channelId: '1431655765432100404', serverId: null } };
  const wrong: [what: string, frame: { op: number; t?: string; s?: string; d?: object }, fault: RegExp][] = [
    ['an unknown event', { ...pins, t: 'PINS_CHANGE' }, /^PINS_CHANGE is not as/],
    ['an unknown opcode', { op: 12 }, /^op 12 is not as/],
    ['a missing field', { ...pins, d: { serverId: null } }, /^PINS_UPDATE is not as[^]+'channelId'/],
    ['an undeclared field', { ...pins, d: { ...pins.d, count: 1 } }, /^PINS_UPDATE is not as[^]+"count"/],
    ['a wrong type', { ...pins, d: { ...pins.d, channelId: 7 } }, /^PINS_UPDATE is not as[^]+\/d\/channelId must be string/],
    ['a hello with a position', { op: 10, s: '1', d: { heartbeatIntervalMs: 1 } }, /^op 10 is not as[^]+"s"/],
  ];
  it('a frame that a test client receives may be as the document says', () => requireDocumentedFrame(pins));
  for (const [what, frame, fault] of wrong)
    it(`a frame that a test client receives may not have ${what}`, () => {
      expect(() => requireDocumentedFrame(frame)).to.throw(fault);
    });

  it('a socket of a test client may be closed with a declared code, and no other', () => {
    for (const code of [...Object.values(closeCodes).map((declared) => declared.code), 1006, 1008, 1009]) requireDocumentedClose(code, '');
    for (const code of [1000, 1011, 4011]) expect(() => requireDocumentedClose(code, 'Why')).to.throw(`${code} (Why)`);
  });

  it('names the address of the gateway', () => {
    expect(render().servers.gateway).to.include({ host: 'chat.example.org', pathname: '/gateway', protocol: 'wss' });
  });

  it('the check detects a broken reference', async () => {
    const document = render();
    delete document.components.schemas.Message;
    expect((await problemsOf(document)).join('\n')).to.match(/schemas\/Message/);
  });
});
