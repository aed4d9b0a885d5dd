import { execFile, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { makeFolder } from '../../harness/folder.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { use } from '../../harness/use.ts';
import { useKit } from './kit-fixture.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const readme = readFileSync(`${root}sdk/javascript/README.md`, 'utf8');
const snippets = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code as string);

/** A bot in TypeScript that uses the types of most parts of the kit. */
const typed = `
import { ApiError, Client, computePermissions, createEndpoint, type Message, type RawInteraction, verifyRequest } from '@parlance/bot';

const bot = new Client({ token: 't', url: 'http://localhost:3000', events: ['pinsUpdate'] });
bot.command('roll', { description: 'd', options: { sides: { type: 'integer', description: 'd', required: true }, note: { description: 'd' } } }, async ({ options }) => {
  const sides: number = options.sides;
  const note: string | undefined = options.note;
  // @ts-expect-error: a number is no text
  const wrong: string = options.sides;
  // @ts-expect-error: an optional option may be missing
  const missing: string = options.note;
  // @ts-expect-error: this option was not declared
  options.other;
  return [sides, note, wrong, missing];
});
bot.on('messageCreate', (message: Message) => message.author.displayName);
bot.on('reactionAdd', ({ emoji, userId }) => emoji + userId);
bot.on('interactionCreate', (interaction) => interaction.reply({ content: 'x', ephemeral: true }));
// @ts-expect-error: there is no such event
bot.on('messageCreated', () => undefined);
const message: Message = await bot.api.createMessage('1', { content: 'x', embeds: [{ title: 't' }] }, { files: [new Blob(['x'])] });
const page: Message[] = await bot.api.listMessages('1', { limit: 5 });
// @ts-expect-error: a limit is a number
await bot.api.listMessages('1', { limit: '5' });
export const { fetch } = createEndpoint({ secret: 's', client: bot });
export const values = [message, page, ApiError, computePermissions, verifyRequest] as const;
export type Raw = RawInteraction['data'];
`;

describe('JavaScript kit: the packed package in an empty project', function () {
  this.timeout(600_000);
  const kit = useKit();
  const folder = use(makeFolder);
  before(() => {
    execFileSync(process.execPath, [`${root}sdk/javascript/pack.mjs`]);
    writeFileSync(join(folder.path, 'package.json'), '{ "private": true, "type": "module" }');
    // \`ws\` comes from this repository, so that nothing is downloaded.
    const args = [
      'install',
      '--offline',
      '--no-audit',
      '--no-fund',
      '--omit=optional',
      `${root}dist/web/kits/parlance-bot-0.1.0.tgz`,
      `${root}node_modules/ws`,
    ];
    execFileSync('npm', args, { cwd: folder.path, shell: process.platform === 'win32' });
  });
  const install = (name: string, source: string): string => {
    writeFileSync(join(folder.path, name), source);
    return join(folder.path, name);
  };
  const check = (args: readonly string[]): Promise<string> =>
    run(
      process.execPath,
      [`${root}node_modules/typescript/bin/tsc`, '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', ...args],
      { cwd: folder.path },
    ).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    );

  it('has the licence, the readme, and nothing but compiled code', () => {
    const files = execFileSync('tar', ['tzf', `${root}dist/web/kits/parlance-bot-0.1.0.tgz`], { encoding: 'utf8' })
      .trim()
      .split('\n');
    expect(files).to.include.members(['package/LICENSE', 'package/README.md', 'package/dist/index.js', 'package/dist/index.d.ts']);
    expect(
      files.filter((file) => !/^package\/(?:LICENSE|README\.md|package\.json|dist\/cjs\/package\.json|dist\/.*\.(?:js|d\.ts))$/.test(file)),
    ).to.deep.equal([]);
  });

  it('compiles with strict types of browsers, and with those of Node', async () => {
    install('typed.ts', typed);
    expect(await check(['--types', '', 'typed.ts'])).to.equal('');
    expect(await check(['--lib', 'es2023', '--typeRoots', `${root}node_modules/@types`, '--types', 'node', 'typed.ts'])).to.equal('');
  });

  /** A program without top-level `await`, which CommonJS does not have. */
  const plain = `import { Client, type Message } from '@parlance/bot';
const bot = new Client({ token: 't', url: 'http://localhost:8080/' });
bot.on('messageCreate', (message: Message) => message.content.length);
export const getName = async (): Promise<string> => (await bot.api.getMe()).username;
console.log(bot.url);
`;
  // The newest compiler no longer has the resolution `node`, so that of another package compiles it.
  const older = createRequire(createRequire(import.meta.url).resolve('oazapfts')).resolve('typescript/bin/tsc');
  const newest = `${root}node_modules/typescript/bin/tsc`;
  const settings: [what: string, compiler: string, module: string, resolution: string][] = [
    ['node', older, 'commonjs', 'node'],
    ['node, with ES modules', older, 'esnext', 'node'],
    ['node16', newest, 'node16', 'node16'],
    ['nodenext', newest, 'nodenext', 'nodenext'],
    ['bundler', newest, 'esnext', 'bundler'],
  ];
  for (const [what, compiler, module, resolution] of settings)
    it(`compiles with the module resolution ${what}, as an ES module and as CommonJS`, async () => {
      const files = [install('plain.ts', plain), install('plain.cts', plain)];
      const common = ['--strict', '--noEmit', '--target', 'es2022', '--typeRoots', `${root}node_modules/@types`, '--types', 'node'];
      const options = ['--module', module, '--moduleResolution', resolution, ...(compiler === newest ? ['--ignoreConfig'] : [])];
      const { stdout } = await run(process.execPath, [compiler, ...common, ...options, ...files], { cwd: folder.path }).catch(
        (error: { stdout: string }) => error,
      );
      expect(stdout).to.equal('');
    });

  it('is loaded by require', async () => {
    const program = `const { Client } = require('@parlance/bot'); console.log(new Client({ url: 'http://localhost:8080/' }).url);`;
    const { stdout } = await run(process.execPath, [install('required.cjs', program)]);
    expect(stdout.trim()).to.equal('http://localhost:8080');
  });

  const bundlers: [name: string, args: string[]][] = [
    ['esbuild', ['page.js', '--bundle', '--format=esm', '--outfile=bundled/esbuild.js', '--log-level=warning']],
    ['rolldown', ['page.js', '--platform', 'browser', '--format', 'esm', '-d', 'bundled', '--entryFileNames', 'rolldown.js']],
    ['vite', ['build', '--outDir', 'bundled/vite', '--logLevel', 'warn']],
  ];
  for (const [name, args] of bundlers)
    it(`is bundled for browsers by ${name}, without a module of Node`, async () => {
      const page = `import { Client, openFile } from '@parlance/bot';\nglobalThis.page = [new Client({ url: 'http://localhost:8080' }), openFile];\n`;
      install('page.js', page);
      install('index.html', '<script type="module" src="/page.js"></script>');
      const { stdout, stderr } = await run(`${root}node_modules/.bin/${name}`, args, { cwd: folder.path });
      expect(stdout + stderr).not.to.match(/warn|node:|could not/i);
      const bundled = readdirSync(join(folder.path, 'bundled'), { recursive: true, encoding: 'utf8' }).filter((file) =>
        file.endsWith('.js'),
      );
      expect(bundled).not.to.deep.equal([]);
      for (const file of bundled)
        expect(readFileSync(join(folder.path, 'bundled', file), 'utf8')).not.to.match(/(?:from|import|require)\s*\(?\s*["']node:/);
    });

  it('has a readme whose snippets are correct', async () => {
    expect(snippets.length).to.be.greaterThan(8);
    const files = snippets.map((code, at) =>
      install(`snippet-${at}.ts`, code.replaceAll(/\((\w+Id(?:, \w+Id)*|headers, rawBody)\) \{/g, typeParameters)),
    );
    expect(await check(['--typeRoots', `${root}node_modules/@types`, '--types', 'node', ...files])).to.equal('');
  });

  const modes: [what: string, flags: string[]][] = [
    ['the package ws', []],
    ['the WebSocket of the runtime', ['--experimental-websocket']],
  ];
  for (const [what, flags] of modes)
    it(`runs the first bot of the readme with ${what}`, async () => {
      const bot = install('bot.js', `${snippets[0]}\nconsole.log('ready');\nprocess.once('SIGTERM', () => bot.stop());\n`);
      const child = spawn(process.execPath, [...flags, bot], {
        cwd: folder.path,
        env: { PATH: process.env.PATH, PARLANCE_URL: kit.api.url, PARLANCE_TOKEN: kit.bot.token },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      try {
        await waitUntil(() => output.includes('ready') || child.exitCode !== null, 'the bot is ready');
        const [posted] = await kit.post(['ping']);
        await waitUntil(async () => {
          const { body } = await kit.api.call<{ content: string; reply?: { id: string } }[]>(
            'GET',
            `/api/channels/${kit.server.general}/messages`,
            { as: kit.owner.as },
          );
          return body.some(({ content, reply }) => content === 'pong' && reply?.id === posted?.id);
        }, 'the answer');
        await kit.invoke('hello');
        await waitUntil(
          async () => (await kit.api.platform.db.interactions.findOne({ state: 'answered' })) !== null,
          'the command is answered',
        );
      } finally {
        child.kill('SIGTERM');
      }
      expect(await ended).to.equal(0);
    });
});

/** Declares the parameters of a snippet in JavaScript, so that the compiler checks its body. */
const typeParameters = (_: string, names: string): string =>
  `(${names
    .split(', ')
    .map((name) => `${name}: ${name === 'headers' ? 'Headers' : 'string'}`)
    .join(', ')}) {`;
