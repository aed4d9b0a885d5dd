// These tests cover the use of slash commands and reading the interaction that it makes.
import { expect } from 'chai';
import type { CommandInput, CommandOption } from '../../../lib/contract/command.ts';
import { makeMember } from '../../harness/factories.ts';
import { startInteractionFixture } from '../../harness/interaction-fixture.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { botOf } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

/** An option that a command takes. */
export const option = (name: string, type: CommandOption['type'] = 'string', required = false): CommandOption => ({
  name,
  description: 'x',
  type,
  required,
});

/** A body that gives these options, each a name and a value. */
export const optionList = (...pairs: readonly (readonly [name: string, value: unknown])[]): object => ({
  options: pairs.map(([name, value]) => ({ name, value })),
});

/** A use of a command: in the fixture's first channel, without options, by the fixture's member if nothing else is given. */
type Use = [command: string, body?: unknown, as?: Caller, channelId?: string];

/** Starts an interaction fixture whose bot has these commands. Returns it with the calls that use them. */
export function useCommands(commands: CommandInput[]) {
  const fixture = use(async () => {
    const started = await startInteractionFixture();
    await started.register(commands);
    return started;
  });
  const owner = make(async () => fixture.person);
  /** Has the permissions of `@everyone`. */
  const member = make(() => makeMember(fixture.api, owner, fixture.seeded.serverId));
  const bot = make(async () => botOf(fixture.seeded));
  /** The path that uses a command of the bot, or the command with this id. */
  const pathOf = (command: string, channelId = fixture.channelId): string =>
    `/api/channels/${channelId}/commands/${fixture.commands[command] ?? command}/invoke`;
  return {
    fixture,
    owner,
    member,
    bot,
    pathOf,
    /** Uses a command; expects 202. */
    invoke: (...[command, body = {}, as = member, channelId]: Use): Promise<{ id: string; state: string }> =>
      send(fixture.api, 202, as, 'POST', pathOf(command, channelId), body),
    /** Uses a command; expects an error, that nothing is stored and that the bot receives nothing. */
    async refuses(error: readonly [status: number, code: string], ...[command, body = {}, as = member, channelId]: Use) {
      const before = await fixture.snapshot();
      const answer = await refused(fixture.api, error, as, 'POST', pathOf(command, channelId), body);
      expect(await fixture.snapshot()).to.equal(before);
      return answer;
    },
  };
}
