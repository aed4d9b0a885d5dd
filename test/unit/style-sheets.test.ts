import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const read = (path: string): string => readFileSync(path, 'utf8');
const listFiles = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
const sheets = listFiles('apps/web', '.css');
/** The classes of the components that show a dialog: it is a descendant of their elements, and has headings, lists and buttons of its own. */
const classesAroundDialogs = new Set(
  listFiles('apps/web/client', '.tsx')
    .map(read)
    .filter((code) => /<(Dialog|Confirm|\w+Dialog)\b/.test(code))
    // `field` is the class of all fields, which may be in a dialog.
    .flatMap((code) =>
      [...code.matchAll(/\bclass="([^"]+)"/g)].flatMap(([, names = '']) => names.split(' ').filter((name) => name !== 'field')),
    ),
);
/** The selectors of a style sheet, without comments and conditions. */
const selectorsOf = (css: string): string[] =>
  [...css.replaceAll(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{};]+)\{/g)]
    .flatMap(([, list = '']) => list.split(/,(?![^(]*\))/))
    .map((one) => one.trim().replaceAll(/\s+/g, ' '))
    .filter((one) => one !== '' && !one.startsWith('@'));
/** Whether a selector matches all elements of a type at any depth below `.around`. */
const reachesInto = (selector: string): string | undefined => {
  const [, around, rest = ''] = /^\.([\w-]+)\S* (?![>+~] )(.*)$/.exec(selector) ?? [];
  return around !== undefined && /^[a-z*]/.test(rest) ? around : undefined;
};

describe('style sheets', () => {
  for (const path of sheets)
    it(`reaches into no dialog of another component: ${path}`, () => {
      const found = selectorsOf(read(path)).filter((selector) => classesAroundDialogs.has(reachesInto(selector) ?? ''));
      expect(found).to.deep.equal([]);
    });

  it('finds the dialogs of the channel list and the rail', () => {
    expect([...classesAroundDialogs]).to.include.members(['channel-list', 'rail', 'settings-block']);
    expect(reachesInto('.channel-list header')).to.equal('channel-list');
    expect(reachesInto('.channel-list > header')).to.equal(undefined);
  });
});
