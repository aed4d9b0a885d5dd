import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { guideNames, parseGuide, toGuideFile, toServedMarkdown } from '../../apps/web/guides/markdown.ts';
import { renderGuideList, renderGuidePage } from '../../apps/web/guides/static-pages.ts';
import { fillFences, findPrograms, guideFiles, guidesFolder, programFiles } from './guides.ts';

const guides = new Map(guideFiles.map((file) => [file, readFileSync(`${guidesFolder}/${file}`, 'utf8')]));

describe('guides', () => {
  it('show the programs of docs/guides/code as they are; `npm run guides` copies them', () => {
    expect([...guides].filter(([, text]) => fillFences(text) !== text).map(([file]) => file)).to.deep.equal([]);
  });

  it('show every program once, in both languages', () => {
    const shown = [...guides.values()].flatMap(findPrograms);
    expect(shown.toSorted()).to.deep.equal(programFiles.toSorted());
    for (const [file, text] of guides) {
      const languages = findPrograms(text).map((program) => program.replace(/^.*\./, ''));
      expect(languages.filter((one) => one === 'mjs').length, file).to.equal(languages.filter((one) => one === 'py').length);
      expect(languages.length, file).to.be.above(0);
    }
  });

  it('are all on the pages', () => {
    const files = guideNames.map(toGuideFile);
    expect(files).to.include.members(guideFiles.map((file) => `${guidesFolder}/${file}`));
    for (const file of files) expect(parseGuide(readFileSync(file, 'utf8')).sections, file).not.to.have.length(0);
  });

  it('are readable without scripts, with their programs and with links to one another', () => {
    const page = '<title>x</title><body>\n<div id="app"></div>\n<noscript>scripts</noscript></body>';
    const all = guideNames.map((name) => ({ name, ...parseGuide(readFileSync(toGuideFile(name), 'utf8')) }));
    for (const guide of all) {
      const html = renderGuidePage(page, guide, all);
      expect(html).to.contain(`<title>${guide.title} · Parlance for developers</title>`).and.not.to.contain('noscript');
      for (const { id } of guide.sections) expect(html).to.contain(`<section id="${id}">`);
      for (const { name } of all) expect(html).to.contain(`href="/developers/guides/${name}"`);
    }
    const sample = {
      name: 'a',
      ...parseGuide('# A & b\n\nS.\n\n## P\n\n[l](two.md) `<i>`\n\n```js file=a.mjs\nif (a < b) x("y");\n```\n'),
    };
    const html = renderGuidePage(page, sample, [sample]);
    expect(html).to.contain('<h1>A &amp; b</h1>').and.to.contain('<pre><code>if (a &lt; b) x(&quot;y&quot;);</code></pre>');
    expect(html).to.contain('<a href="/developers/guides/two">l</a> <code>&lt;i&gt;</code>');
    expect(renderGuideList(page, all)).to.contain('href="/developers/guides/first-bot"');
  });

  it('link to pages, also as Markdown', () => {
    const markdown = '[a](../delivery.md#events) [b](two.md) [c](../../sdk/python/README.md)';
    expect(toServedMarkdown(markdown)).to.equal('[a](/developers/reference/events) [b](two.md) [c](/developers/guides/python-kit)');
  });

  it('detects a block that differs from its program', () => {
    const guide = '# A\n\n```js file=a.mjs\nold();\n```\n';
    expect(fillFences(guide, () => 'updated();\n')).to.equal('# A\n\n```js file=a.mjs\nupdated();\n```\n');
  });

  it('are read with their sections, links and languages', () => {
    const markdown =
      '# Title\n\nWhat *it* is.\n\n## One part\n\nSee [two](two.md#part) and `code`.\n\n```js file=a.mjs\na\n```\n\n```py file=a.py\nb\n```\n\n```sh\nc\n```\n';
    const { title, summary, sections } = parseGuide(markdown);
    expect([title, summary]).to.deep.equal(['Title', 'What it is.']);
    const [section] = sections;
    expect(section).to.include({ id: 'one-part', title: 'One part', text: 'See two and code. a b c' });
    expect(section?.nodes[0]).to.deep.equal({
      tag: 'p',
      children: [
        'See ',
        { tag: 'a', href: '/developers/guides/two#part', children: ['two'] },
        ' and ',
        { tag: 'code', children: ['code'] },
        '.',
      ],
    });
    expect(section?.nodes.slice(1)).to.deep.equal([
      {
        samples: [
          { language: 'js', file: 'a.mjs', text: 'a' },
          { language: 'py', file: 'a.py', text: 'b' },
        ],
      },
      { samples: [{ language: 'sh', file: null, text: 'c' }] },
    ]);
  });
});
