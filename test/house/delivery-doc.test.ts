import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { TObject } from 'typebox';
import { settings } from '../../config/index.ts';
import { limits } from '../../lib/base/limits.ts';
import { Channel } from '../../lib/contract/channel.ts';
import { closeCodes } from '../../lib/contract/close-codes.ts';
import type { EventDefinition } from '../../lib/contract/event-definition.ts';
import { botEvents, events, optInEvents } from '../../lib/contract/events.ts';
import { getOpcode, type OpcodeName, opcodes } from '../../lib/contract/gateway.ts';
import { Interaction } from '../../lib/contract/interaction.ts';
import { Message } from '../../lib/contract/message.ts';
import { Server, ServerSummary } from '../../lib/contract/server.ts';
import { PublicUser } from '../../lib/contract/user.ts';

const page = readFileSync('docs/delivery.md', 'utf8');
const schemas: Record<string, unknown> = { Channel, Interaction, Message, PublicUser, Server, ServerSummary };

/** The cells of the table under a heading, by row, without its header. */
function rowsUnder(heading: string): string[][] {
  const [, after = ''] = page.split(`\n${heading}\n`);
  const lines = after.slice(after.indexOf('\n|')).trimStart().split('\n');
  const rows = lines.slice(
    2,
    lines.findIndex((line) => !line.startsWith('|')),
  );
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The texts in backticks, each within one line. */
const codesIn = (text = ''): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code ?? '');

const recipients: Record<EventDefinition['audience'], string> = {
  channel: 'viewers of the channel',
  members: 'members concerned',
  server: 'all members',
  account: 'the account',
  session: 'one session',
  custom: 'see notes',
};

/** The expected cells of an event's row. The payload is the schema's name or the names of its fields. */
function rowOf(name: keyof typeof events): string[] {
  const { data, place, audience }: EventDefinition = events[name];
  const schema = Object.keys(schemas).find((one) => schemas[one] === data);
  const payload = schema ? [schema] : Object.keys((data as TObject).properties);
  const bots = botEvents.includes(name) ? 'always' : optInEvents.includes(name) ? 'on request' : 'never';
  return [`\`${name}\``, payload.map((one) => `\`${one}\``).join(', '), place ?? 'none', recipients[audience], bots];
}

const units: Record<string, number> = { KiB: 1024, MiB: 1024 * 1024, s: 1_000, min: 60_000 };

/** Parses a number of the page, such as `2,000` or `16 KiB`. */
function valueOf(text = ''): number {
  const [, digits = '', unit = ''] = /^([\d,]+)(?: (\w+))?$/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (unit ? (units[unit] ?? Number.NaN) : 1);
}

describe('docs/delivery.md', () => {
  it('has a row with examples for every opcode', () => {
    const rows = rowsUnder('### Opcodes');
    const senderOf = (name: OpcodeName): string => {
      const { fromClient, fromGateway } = getOpcode(name);
      return fromClient && fromGateway ? 'both' : fromClient ? 'client' : 'gateway';
    };
    expect(rows.map(([code, name, sender]) => [Number(code), name, sender])).to.have.deep.members(
      (Object.keys(opcodes) as OpcodeName[]).map((name) => [opcodes[name].code, name, senderOf(name)]),
    );
    for (const [code, , , example] of rows) {
      const frames = codesIn(example).map((json) => JSON.parse(json) as { op: number; t?: string });
      expect(frames, code).to.have.length.above(0);
      for (const frame of frames) expect(frame).to.include({ op: Number(code) });
    }
  });

  it('has a row for every close code with its cause and what the client does', () => {
    const rows = Object.values(closeCodes).map(({ code, cause, advice }) => [String(code), cause, advice]);
    expect(rowsUnder('### Close codes')).to.deep.equal(rows);
  });

  it('has a row for every event with its payload, log and recipients, and whether bots receive it', () => {
    const rows = rowsUnder('## Events').map((row) => row.slice(0, 5));
    expect(rows).to.deep.equal((Object.keys(events) as (keyof typeof events)[]).map(rowOf));
  });

  it('has examples of existing events with existing fields', () => {
    for (const json of codesIn(page).filter((code) => code.startsWith('{"op":0'))) {
      const { t, d } = JSON.parse(json) as { t: keyof typeof events; d: object };
      expect(Object.keys((events[t].data as TObject).properties), t).to.have.members(Object.keys(d));
    }
  });

  it('has the value of every gateway limit', () => {
    const rows = rowsUnder('### Limits').map(([, value, name]) => [codesIn(name)[0] ?? '', valueOf(value)] as const);
    for (const [name, value] of rows) expect(limits, name).to.have.property(name, value);
    const named = rows.map(([name]) => name);
    expect(named).to.include.members(Object.keys(limits).filter((name) => name.startsWith('gateway')));
    expect(new Set(named)).to.have.property('size', named.length);
  });

  it('shows what GET /api/gateway returns', () => {
    const json = /```json\n(\{ "url".*\})\n```/.exec(page)?.[1] ?? '';
    expect(JSON.parse(json)).to.deep.equal({
      url: 'wss://chat.example.org/gateway',
      heartbeatIntervalMs: Number(settings.HEARTBEAT_INTERVAL_MS.defaultText),
      resumeWindowSecs: limits.resumeWindowMs / 1000,
      replayLimit: limits.replayEvents,
    });
  });
});
