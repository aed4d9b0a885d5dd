import { expect } from 'chai';
import fc from 'fast-check';
import { bodyOf, changesOf, draftOf, readDraft, Unfit } from '../../apps/web/developers/commands/draft.ts';
import { lineAt, readJson } from '../../apps/web/developers/commands/json-places.ts';

const text = `[
  { "name": "hello", "description": "Says hello." },
  {
    "name": "roll",
    "description": "Rolls dice.",
    "options": [
      { "name": "sides", "description": "How many." },
      { "name": "a/b~c", "description": "Odd." }
    ]
  }
]`;

describe('readJson', () => {
  const places: [pointer: string, line: number][] = [
    ['', 1],
    ['/0', 2],
    ['/0/name', 2],
    ['/1', 3],
    ['/1/name', 4],
    ['/1/options/0/name', 7],
    ['/1/options/1/description', 8],
    ['/1/prefix', 3],
    ['/1/options/1/required', 8],
    ['/7/name', 1],
    ['/', 1],
  ];
  for (const [pointer, line] of places)
    it(`${pointer || 'the whole'} is on line ${line}`, () => {
      const read = readJson(text);
      expect(read.ok && lineAt(read.lines, pointer)).to.equal(line);
    });

  const bad: [what: string, text: string, line: number][] = [
    ['nothing', '', 1],
    ['a list that does not end', '[\n\n', 3],
    ['a comma at the end', '[\n  1,\n]', 3],
    ['a missing comma', '[\n  1\n  2]', 3],
    ['a name without quotes', '[{\n  name: 1}]', 2],
    ['a missing colon', '{\n"a"\n1}', 3],
    ['a string over two lines', '["a\nb"]', 1],
    ['something after the end', '[]\n[]', 2],
    ['what JavaScript knows and JSON does not', '[\nundefined]', 2],
    ['a number with a zero before it', '[\n01]', 2],
  ];
  for (const [what, wrong, line] of bad)
    it(`${what} is no JSON, on line ${line}`, () => {
      expect(() => JSON.parse(wrong)).to.throw();
      expect(readJson(wrong)).to.include({ ok: false, line });
    });

  it('takes what JSON.parse takes, and nothing else', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', ']', '}', '\n', '\t', '\\', '0', '-'), (json, at, piece) => {
        const cutAt = at % (json.length + 1);
        const given = json.slice(0, cutAt) + piece + json.slice(cutAt);
        let expected: unknown;
        let parses = true;
        try {
          expected = JSON.parse(given);
        } catch {
          parses = false;
        }
        const read = readJson(given);
        expect(read.ok).to.equal(parses);
        if (read.ok) expect(read.value).to.deep.equal(expected);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a draft of commands', () => {
  const option = { name: 'name', description: 'Who.', type: 'string' as const, required: false };
  const saved = [
    { id: '1', kind: 'slash' as const, name: 'hello', description: 'Hi.', options: [option] },
    { id: '2', kind: 'prefix' as const, name: 'ping', description: '', prefix: '?' },
  ];

  it('sends back what was saved, without ids', () => {
    expect(bodyOf(draftOf(saved))).to.deep.equal([
      { kind: 'slash', name: 'hello', description: 'Hi.', options: [option] },
      { kind: 'prefix', name: 'ping', description: '', prefix: '?' },
    ]);
  });

  it('fills in what JSON leaves out, as the service does', () => {
    const [command] = bodyOf(readDraft([{ name: 'roll', description: 'Rolls.', options: [{ name: 'sides', description: 'How many.' }] }]));
    const options = [{ name: 'sides', description: 'How many.', type: 'string', required: false }];
    expect(command).to.deep.equal({ kind: 'slash', name: 'roll', description: 'Rolls.', options });
  });

  const unfit: [what: string, value: unknown, pointer: string][] = [
    ['no list', {}, ''],
    ['no object', ['hello'], '/0'],
    ['a number for a name', [{ name: 5 }], '/0/name'],
    ['a kind that is none', [{ kind: 'menu' }], '/0/kind'],
    ['options that are no list', [{ options: {} }], '/0/options'],
    ['an option of no known type', [{ options: [{ type: 'date' }] }], '/0/options/0/type'],
    ['a yes in words', [{ options: [{ required: 'yes' }] }], '/0/options/0/required'],
  ];
  for (const [what, value, pointer] of unfit)
    it(`${what} is not shown as a table, and said where`, () => {
      expect(() => readDraft(value))
        .to.throw(Unfit)
        .with.property('pointer', pointer);
    });

  it('counts what comes, changes and goes by kind and name', () => {
    const body = [
      { name: 'hello', description: 'Hello.', options: [] },
      { name: 'ping', description: 'As a slash command.', options: [] },
    ];
    expect(changesOf(saved, body)).to.deep.equal({ added: 1, changed: 1, removed: 1 });
    expect(changesOf(saved, bodyOf(draftOf(saved)))).to.deep.equal({ added: 0, changed: 0, removed: 0 });
  });

  it('is no change where JSON leaves out what the service fills in', () => {
    const spare = [
      { name: 'hello', description: 'Hi.', options: [{ name: 'name', description: 'Who.' }] },
      { kind: 'prefix' as const, name: 'ping', prefix: '?' },
    ];
    expect(changesOf(saved, spare)).to.deep.equal({ added: 0, changed: 0, removed: 0 });
  });
});
