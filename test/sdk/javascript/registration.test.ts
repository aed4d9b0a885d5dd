import { Client, type ClientOptions } from '@parlance/bot';
import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { send } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';
import { startFlakyApi } from './flaky-api.ts';
import { useKit } from './kit-fixture.ts';

describe('JavaScript kit: registering commands', () => {
  const kit = useKit();
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const warnings: string[] = [];
  const path = (): string => `/api/applications/${kit.bot.applicationId}/commands`;
  const portal = [
    { name: 'portal', description: 'From the portal', options: [{ name: 'text', description: 'A text', required: true }] },
    { kind: 'prefix', prefix: '!', name: 'echo', description: 'Also from there' },
  ];
  const registered = async (): Promise<string[]> =>
    (await send<{ name: string; description: string }[]>(kit.api, 200, kit.owner, 'GET', path()))
      .map(({ name, description }) => `${name}: ${description}`)
      .sort();
  const makeClient = (options: ClientOptions = {}): Client =>
    kit.client({ url: flaky.url, ...options }).on('warning', (text) => warnings.push(text));
  beforeEach(async () => {
    await send(kit.api, 200, kit.owner, 'PUT', path(), portal);
    warnings.length = 0;
    flaky.arrivals.length = 0;
  });

  it('keeps the commands that are not declared, and names them and the option that removes them', async () => {
    await makeClient()
      .command('one', { description: 'First' }, () => undefined)
      .registerCommands();
    expect(await registered()).to.deep.equal(['echo: Also from there', 'one: First', 'portal: From the portal']);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('/portal, !echo').and.to.contain('removeOtherCommands');
  });

  it('keeps them as they are, with their ids and options', async () => {
    const list = () => send<{ id: string; name: string }[]>(kit.api, 200, kit.owner, 'GET', path());
    const before = await list();
    await makeClient()
      .command('one', { description: 'First' }, () => undefined)
      .registerCommands();
    expect((await list()).filter(({ name }) => name !== 'one')).to.have.deep.members(before);
  });

  it('changes a declared command, and another one of the same name and another kind stays', async () => {
    const client = makeClient().command('portal', { description: 'Changed' }, () => undefined);
    await client.command('echo', { description: 'Slash' }, () => undefined).registerCommands();
    expect(await registered()).to.deep.equal(['echo: Also from there', 'echo: Slash', 'portal: Changed']);
  });

  it('removes the others when it is told to, also if none is declared', async () => {
    await makeClient({ removeOtherCommands: true })
      .command('one', { description: 'First' }, () => undefined)
      .registerCommands();
    expect(await registered()).to.deep.equal(['one: First']);
    await makeClient({ removeOtherCommands: true }).registerCommands();
    expect(await registered()).to.deep.equal([]);
    expect(warnings).to.deep.equal([]);
  });

  for (const removeOtherCommands of [false, true])
    it(`at a start without commands ${removeOtherCommands ? 'removes all' : 'names those that stay'}`, async () => {
      const client = makeClient({ removeOtherCommands });
      await client.start();
      if (!removeOtherCommands) await waitUntil(() => warnings.length === 1, 'the warning');
      expect(await registered()).to.have.length(removeOtherCommands ? 0 : 2);
      expect(warnings.join()).to.contain(removeOtherCommands ? '' : '/portal, !echo');
      await client.stop();
    });

  it('sends nothing if the commands have not changed', async () => {
    const declare = async (description: string): Promise<string[]> => {
      const client = makeClient();
      await client.command('one', { description, options: { text: { description: 'Text' } } }, () => undefined).registerCommands();
      return flaky.arrivals.splice(0).map(({ line }) => line.slice(0, 3));
    };
    expect(await declare('First')).to.deep.equal(['GET', 'GET', 'PUT']);
    expect(await declare('First')).to.deep.equal(['GET', 'GET']);
    expect(await declare('Second')).to.deep.equal(['GET', 'GET', 'PUT']);
  });
});
