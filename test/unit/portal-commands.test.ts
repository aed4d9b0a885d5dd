import { expect } from 'chai';
import fc from 'fast-check';
import { bodyOf, changesOf, draftOf, readDraft, UnsupportedJson } from '../../apps/web/developers/commands/draft.ts';
import { lineAt, readJson } from '../../apps/web/developers/commands/json-lines.ts';

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
    it(`finds ${pointer || 'the document'} on line ${line}`, () => {
      const read = readJson(text);
      expect(read.ok && lineAt(read.lines, pointer)).to.equal(line);
    });

  const malformed: [what: string, text: string, line: number][] = [
    ['empty text', '', 1],
    ['an unclosed list', '[\n\n', 3],
    ['a trailing comma', '[\n  1,\n]', 3],
    ['a missing comma', '[\n  1\n  2]', 3],
    ['a name without quotes', '[{\n  name: 1}]', 2],
    ['a missing colon', '{\n"a"\n1}', 3],
    ['a line break in a string', '["a\nb"]', 1],
    ['a value after the end', '[]\n[]', 2],
    ['undefined', '[\nundefined]', 2],
    ['a number with a leading zero', '[\n01]', 2],
  ];
  for (const [what, wrong, line] of malformed)
    it(`refuses ${what} with line ${line}`, () => {
      expect(() => JSON.parse(wrong)).to.throw();
      expect(readJson(wrong)).to.include({ ok: false, line });
    });

  it('accepts exactly what JSON.parse accepts', () => {
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

describe('command draft', () => {
  const option = { name: 'name', description: 'Who.', type: 'string' as const, required: false };
  const saved = [
    { id: '1', kind: 'slash' as const, name: 'hello', description: 'Hi.', options: [option] },
    { id: '2', kind: 'prefix' as const, name: 'ping', description: '', prefix: '?' },
  ];

  it('sends the saved commands without ids', () => {
    expect(bodyOf(draftOf(saved))).to.deep.equal([
      { kind: 'slash', name: 'hello', description: 'Hi.', options: [option] },
      { kind: 'prefix', name: 'ping', description: '', prefix: '?' },
    ]);
  });

  it('sets the same defaults as the API', () => {
    const [command] = bodyOf(readDraft([{ name: 'roll', description: 'Rolls.', options: [{ name: 'sides', description: 'How many.' }] }]));
    const options = [{ name: 'sides', description: 'How many.', type: 'string', required: false }];
    expect(command).to.deep.equal({ kind: 'slash', name: 'roll', description: 'Rolls.', options });
  });

  const invalid: [what: string, value: unknown, pointer: string][] = [
    ['a value that is not a list', {}, ''],
    ['a command that is not an object', ['hello'], '/0'],
    ['a number as a name', [{ name: 5 }], '/0/name'],
    ['an unknown kind', [{ kind: 'menu' }], '/0/kind'],
    ['options that are not a list', [{ options: {} }], '/0/options'],
    ['an option of an unknown type', [{ options: [{ type: 'date' }] }], '/0/options/0/type'],
    ['a string for `required`', [{ options: [{ required: 'yes' }] }], '/0/options/0/required'],
  ];
  for (const [what, value, pointer] of invalid)
    it(`refuses ${what} with its pointer`, () => {
      expect(() => readDraft(value))
        .to.throw(UnsupportedJson)
        .with.property('pointer', pointer);
    });

  it('counts added, changed and removed commands by kind and name', () => {
    const body = [
      { name: 'hello', description: 'Hello.', options: [] },
      { name: 'ping', description: 'As a slash command.', options: [] },
    ];
    expect(changesOf(saved, body)).to.deep.equal({ added: 1, changed: 1, removed: 1 });
    expect(changesOf(saved, bodyOf(draftOf(saved)))).to.deep.equal({ added: 0, changed: 0, removed: 0 });
  });

  it('counts no change for omitted defaults', () => {
    const minimal = [
      { name: 'hello', description: 'Hi.', options: [{ name: 'name', description: 'Who.' }] },
      { kind: 'prefix' as const, name: 'ping', prefix: '?' },
    ];
    expect(changesOf(saved, minimal)).to.deep.equal({ added: 0, changed: 0, removed: 0 });
  });
});
