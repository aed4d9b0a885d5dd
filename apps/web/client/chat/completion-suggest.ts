import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { type ApiError, asApiError, call, path, query as queryString } from '../../api/call.ts';
import { findMembers, hasMoreMembers, loadMembers } from '../../state/people.ts';
import type { ChannelContext } from '../channel-context.ts';
import type { Query } from './completion-query.ts';
import { channelsFor, commandsFor, emojisFor, mentionsFor, type Suggestion } from './completion-sources.tsx';
import { type Emoji, loadEmojis } from './emojis.ts';

/** How long after the last key press the service is asked, in milliseconds. */
const debounceMs = 120;

/** Loads the commands that can be used in a channel and whose name contains `wanted`. Throws `ApiError`. */
export const findCommands = (channelId: string, wanted: string, signal?: AbortSignal): Promise<PickerCommand[]> =>
  call('GET', path`/api/channels/${channelId}/commands` + queryString({ q: wanted }), undefined, signal ? { signal } : {});

/** Loads the members of a server once. If that fails, they are not suggested. */
export const loadMembersOnce = ({ serverId }: ChannelContext): void => {
  if (serverId) loadMembers(serverId).catch(() => undefined);
};

/** The suggestions of the completion, and the state of loading them. */
export interface Suggestions {
  items: Suggestion[];
  busy: boolean;
  error: ApiError | null;
}

/** Returns the suggestions for a query. Emoji and members are loaded when they are first needed; commands are loaded again after each key press. */
export function useSuggestions(context: ChannelContext, query: Query | null): Suggestions {
  const emojis = useSignal<readonly Emoji[]>([]);
  const commands = useSignal<readonly PickerCommand[] | null>(null);
  const error = useSignal<ApiError | null>(null);
  const sign = query?.sign;
  const wanted = query?.wanted ?? '';
  useEffect(() => {
    error.value = null;
    if (sign === '@') loadMembersOnce(context);
    if (sign === ':')
      loadEmojis().then(
        (list) => {
          emojis.value = list;
        },
        () => undefined,
      );
    if (sign !== '/') commands.value = null;
  }, [sign]);
  useEffect(() => {
    const { serverId } = context;
    if (sign !== '@' || wanted === '' || serverId === null || !hasMoreMembers(serverId)) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => void findMembers(serverId, wanted, stop.signal).catch(() => undefined), debounceMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [sign, wanted]);
  useEffect(() => {
    if (sign !== '/') return undefined;
    const stop = new AbortController();
    const load = (): void =>
      void findCommands(context.channelId, wanted, stop.signal).then(
        (found) => {
          error.value = null;
          commands.value = found;
        },
        (fault: unknown) => {
          if (!stop.signal.aborted) error.value = asApiError(fault);
        },
      );
    const timer = setTimeout(load, commands.value ? debounceMs : 0);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [sign, wanted]);
  const items = (): Suggestion[] => {
    switch (sign) {
      case '@':
        return mentionsFor(context, wanted);
      case '#':
        return channelsFor(context, wanted);
      case ':':
        return emojisFor(emojis.value, wanted);
      case '/':
        return commandsFor(commands.value ?? [], wanted);
      default:
        return [];
    }
  };
  return {
    items: items(),
    busy: sign === '/' && commands.value === null && error.value === null,
    error: sign === '/' ? error.value : null,
  };
}
